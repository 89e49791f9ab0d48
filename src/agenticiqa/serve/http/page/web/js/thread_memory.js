// Which runs stand below each other, kept in the tab: loaded again, the page shows the whole thread.

const STORED = "agenticiqa.threads";

/** `ids` of one kind of work, oldest first. */
export function rememberThread(kind, ids) {
  try {
    sessionStorage.setItem(STORED, JSON.stringify({ ...threads(), [kind]: ids }));
  } catch {
    // Storage may be forbidden: a page that is loaded again then shows the last answer alone.
  }
}

/** The thread that a run stands in; alone where it is not known to stand in any. */
export function threadWith(kind, id) {
  const ids = threads()[kind] ?? [];
  return ids.includes(id) ? ids : [id];
}

function threads() {
  try {
    return JSON.parse(sessionStorage.getItem(STORED)) ?? {};
  } catch {
    return {};
  }
}
