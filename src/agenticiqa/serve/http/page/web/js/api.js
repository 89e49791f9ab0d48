// Talks to the service: requests with the key, problem documents, server-sent events.

const STORED_KEY = "agenticiqa.key";

/** A refusal as the server worded it (RFC 9457), or what stands in for it when there was no server to word it. */
export class Problem extends Error {
  constructor({ status = 0, type = "", title = "", detail = "", errors = [], run_id = null, retryAfter = null }) {
    super(detail || title);
    Object.assign(this, { status, kind: type.split(":").pop(), title, detail, errors, runId: run_id, retryAfter });
  }
}

let key = stored();
let onUnauthorized = () => {};

function stored() {
  try {
    return sessionStorage.getItem(STORED_KEY);
  } catch {
    return null;
  }
}

export const currentKey = () => key;

export function useKey(value) {
  key = value || null;
  try {
    if (key) sessionStorage.setItem(STORED_KEY, key);
    else sessionStorage.removeItem(STORED_KEY);
  } catch {
    // Storage may be forbidden: the key then lasts as long as the page.
  }
}

export function whenUnauthorized(callback) {
  onUnauthorized = callback;
}

export async function request(path, options = {}) {
  const headers = new Headers(options.headers);
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      title: "The server cannot be reached",
      detail: options.body
        ? "The connection broke while the request was sent. The server may have stopped, or the picture may be larger than it accepts."
        : "Check that it is running and that this machine is connected to it.",
    });
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) onUnauthorized(problem);
  throw problem;
}

async function problemOf(response) {
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const retryAfter = Number.isFinite(wait) ? wait : null;
  try {
    return new Problem({ ...(await response.json()), status: response.status, retryAfter });
  } catch {
    return new Problem({ status: response.status, title: response.statusText || `Status ${response.status}`, retryAfter });
  }
}

export async function getJson(path, options) {
  return (await request(path, options)).json();
}

/** A picture's bytes: fetched here because <img> cannot send the key. */
export async function pictureBlob(path, options) {
  return (await request(path, options)).blob();
}

/** Starts a run and returns it as the server recorded it, before it is finished. */
export async function startRun(kind, form, signal) {
  const options = { method: "POST", body: form, headers: { Prefer: "respond-async" }, signal };
  return (await request(`/v1/${kind}`, options)).json();
}

export const cancelRun = (id) => request(`/v1/runs/${id}/cancel`, { method: "POST" });

const MOST_RECONNECTS = 5;

/** Calls `listener(event, data)` for each event of a run until it has ended; goes on where a broken stream stopped. */
export async function followRun(id, listener, signal) {
  let last = 0;
  for (let attempt = 0; ; attempt += 1) {
    const before = last;
    let ended = false;
    try {
      const headers = last ? { "Last-Event-ID": String(last) } : {};
      const response = await request(`/v1/runs/${id}/events`, { headers, signal });
      for await (const event of eventsOf(response.body)) {
        last = event.id;
        listener(event.name, event.data);
        ended = event.name === "done";
      }
      if (ended) return;
    } catch (error) {
      if (error.name === "AbortError" || (error.status ?? 0) >= 400 || attempt >= MOST_RECONNECTS) throw error;
    }
    if (attempt >= MOST_RECONNECTS) throw new Problem({ title: "The run's events ended early", detail: "Load the run again from History." });
    if (last > before) attempt = 0;
    await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
  }
}

async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const event = eventOf(block);
      if (event) yield event;
    }
  }
}

function eventOf(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return fields.event ? { id: Number(fields.id), name: fields.event, data: JSON.parse(fields.data) } : null;
}
