// Talks to the service: requests with the key, uploads with progress, problem documents, server-sent events.

import { t } from "./words.js";

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
let onLost = () => {};

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

/** `callback()` is called when a request found no server. */
export function whenLost(callback) {
  onLost = callback;
}

function lost(sending) {
  onLost();
  return new Problem({ type: "unreachable", title: t("problem.unreachable"), detail: t(sending ? "problem.broke_sending" : "problem.check_server") });
}

export async function request(path, options = {}) {
  const headers = new Headers(options.headers);
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw lost(Boolean(options.body));
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
    return new Problem({ status: response.status, title: t("problem.status", { status: response.status }), retryAfter });
  }
}

export async function getJson(path, options) {
  return (await request(path, options)).json();
}

/** A picture's bytes: fetched here because <img> cannot send the key. */
export async function pictureBlob(path, options) {
  return (await request(path, options)).blob();
}

/**
 * Sends a form and tells how much of it has gone: `onProgress(share)`. Fetch cannot tell that yet.
 * Resolves to {blob, header(name)}.
 */
export function send(path, form, { signal = null, onProgress = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", path);
    sending.responseType = "blob";
    if (key) sending.setRequestHeader("Authorization", `Bearer ${key}`);
    sending.upload.addEventListener("progress", (event) => event.lengthComputable && onProgress(event.loaded / event.total));
    sending.addEventListener("error", () => reject(lost(true)));
    sending.addEventListener("abort", () => reject(new DOMException("Aborted", "AbortError")));
    sending.addEventListener("load", async () => {
      if (sending.status < 300) resolve({ blob: sending.response, header: (name) => sending.getResponseHeader(name) });
      else {
        const response = new Response(sending.response, { status: sending.status, statusText: sending.statusText, headers: { "Retry-After": sending.getResponseHeader("Retry-After") ?? "" } });
        const problem = await problemOf(response);
        if (problem.status === 401) onUnauthorized(problem);
        reject(problem);
      }
    });
    signal?.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(form);
  });
}

/** Starts a run and returns it as the server recorded it, before it is finished. */
export async function startRun(kind, form, signal, onProgress) {
  const { blob } = await send(`/v1/${kind}?async=true`, form, { signal, onProgress });
  return JSON.parse(await blob.text());
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
    if (attempt >= MOST_RECONNECTS) throw new Problem({ title: t("problem.events_ended"), detail: t("problem.load_again") });
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
