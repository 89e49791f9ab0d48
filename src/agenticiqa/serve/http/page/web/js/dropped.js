// The files of a drop, folders opened: each with the path it had in its folder.

const MOST = 20_000;

/** [{file, path}] of everything that was dropped. Must be called while the drop is being handled. */
export async function droppedFiles(transfer) {
  const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  // A drop that was made by a program has files, but no entries.
  if (!entries.length) return [...(transfer?.files ?? [])].map((file) => ({ file, path: file.name }));
  const found = [];
  for (const entry of entries) await collect(entry, found);
  return Promise.all(found);
}

/** What a file chooser gave; of a folder the paths inside it. */
export const chosenFiles = (list) => [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

async function collect(entry, found) {
  if (found.length >= MOST || entry.name.startsWith(".")) return;
  const path = entry.fullPath.replace(/^\//, "");
  // Many files are opened at once: one after the other, thousands would take seconds.
  if (entry.isFile) found.push(new Promise((resolve, reject) => entry.file((file) => resolve({ file, path }), reject)));
  else for (const inside of await entriesOf(entry.createReader())) await collect(inside, found);
}

/** A folder's reader gives its entries in portions. */
async function entriesOf(reader) {
  const all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return all;
    all.push(...some);
  }
}
