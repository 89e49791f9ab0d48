// The files of a drop, folders opened: each with the path it had in its folder.

const MOST = 20_000;

/**
 * [{file, path}] of everything that was dropped. Must be called while the drop is being handled. Opening thousands of
 * files takes a second or more: `onSome(found)` gets what was found so far.
 */
export async function droppedFiles(transfer, onSome = () => {}) {
  const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  // A drop that was made by a program has files, but no entries.
  if (!entries.length) return [...(transfer?.files ?? [])].map((file) => ({ file, path: file.name }));
  const found = [];
  await collect(entries, found, onSome);
  return found;
}

/** What a file chooser gave; of a folder the paths inside it. */
export const chosenFiles = (list) => [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

async function collect(entries, found, onSome) {
  const seen = entries.filter((entry) => !entry.name.startsWith("."));
  found.push(...(await Promise.all(seen.filter((entry) => entry.isFile).map(opened))));
  onSome(found);
  // What they show is drawn before the next ones are opened.
  await new Promise((resolve) => setTimeout(resolve));
  for (const folder of seen.filter((entry) => entry.isDirectory)) {
    const reader = folder.createReader();
    // A folder's reader gives its entries in portions.
    for (let some = null; found.length < MOST && some?.length !== 0; ) {
      some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      await collect(some, found, onSome);
    }
  }
}

const opened = (entry) => new Promise((resolve, reject) => entry.file((file) => resolve({ file, path: entry.fullPath.replace(/^\//, "") }), reject));
