// Every word the sheet says.
const WORDS = {
  all: "All pictures", keep: "To keep", drop: "Could go", found: "With a finding", clean: "Without a finding",
  chosen: "Selected", everySort: "every sort", folderOrder: "folder order", ascending: "Ascending", descending: "Descending",
  unopened: "does not open", noFinding: "no finding", best: "Keep", worse: "Could go", group: "Group",
  exact: "The same pixels", near: "Versions of one shot", burst: "Shots of one scene", select: "Select", unselect: "Unselect",
};
const TITLES = {
  path: "Name", findings: "Number of findings", keep: "Keep", score: "Score", level: "Level", sort: "Sort of picture",
  width: "Width", height: "Height", area: "Pixels", ratio: "Aspect ratio", format: "Format", bytes: "File size",
  taken: "Time taken", brightness: "Brightness", sharpness: "Sharpness", detail: "Detail", entropy: "Information",
  generated: "Generated (chance)", group: "Group",
};
const finding = (name) => name.replaceAll("_", " ");
const counted = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
function fileSize(bytes) {
  if (bytes == null) return "";
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
