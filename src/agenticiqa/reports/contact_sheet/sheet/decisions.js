// What is decided of each picture: a person's word before the audit's. This browser keeps it under the sheet's id.
const DECISIONS = ["keep", "maybe", "reject"];
const SIGNS = { keep: "✓", maybe: "?", reject: "✕" };
const STORED_DECISIONS = `agenticiqa.decisions.${sheetId}`;
const yours = new Map();
const done = [];
const undone = [];

const decisionOf = (picture) => yours.get(picture.place)?.decision ?? picture.decision;
const starsOf = (picture) => yours.get(picture.place)?.stars ?? (decisionOf(picture) === picture.decision ? picture.stars : 0);
const starsInWords = (count) => t(count === 1 ? "stars.one" : "stars.many", { count });
const whyOf = (picture) => (decisionOf(picture) === picture.decision ? picture.why : null);

// "Keep · Yours · 3 stars": for who hears it; a mark says the same for who sees it.
function decisionInWords(picture) {
  return [
    t(`decision.${decisionOf(picture)}`),
    ...(yours.has(picture.place) ? [t("decision.you")] : []),
    ...(starsOf(picture) ? [starsInWords(starsOf(picture))] : []),
  ].join(" · ");
}

function showDecision(mark, picture) {
  const by = yours.has(picture.place) ? ` ${t("decision.you")}` : "";
  mark.textContent = `${SIGNS[decisionOf(picture)]}${by}${starsOf(picture) ? ` ${"★".repeat(starsOf(picture))}` : ""}`;
  mark.dataset.decision = decisionOf(picture);
  mark.toggleAttribute("data-yours", Boolean(by));
  mark.title = decisionInWords(picture);
}

function decisionCounts() {
  const counts = { keep: 0, maybe: 0, reject: 0, you: yours.size };
  for (const picture of pictures) counts[decisionOf(picture)] += 1;
  return counts;
}

// `what` is a decision, or stars. One step of undo, for however many pictures.
function decide(list, what) {
  if (!list.length) return;
  done.push(list.map(({ place }) => ({ place, before: yours.get(place), after: { ...yours.get(place), ...what } })));
  undone.length = 0;
  apply("after");
}

function apply(side, changes = done.at(-1)) {
  for (const change of changes) {
    if (change[side]) yours.set(change.place, change[side]);
    else yours.delete(change.place);
  }
  try {
    localStorage.setItem(STORED_DECISIONS, JSON.stringify([...yours]));
  } catch {
    tellUnkept();
  }
  decisionsChanged(pictures[changes[0].place]);
}

function undo() {
  if (!done.length) return;
  undone.push(done.pop());
  apply("before", undone.at(-1));
}

function redo() {
  if (!undone.length) return;
  done.push(undone.pop());
  apply("after");
}

function recallDecisions() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORED_DECISIONS) ?? "[]");
    yours.clear();
    for (const [place, what] of kept) yours.set(place, what);
  } catch {
    tellUnkept();
  }
}

function tellUnkept() {
  document.getElementById("unkept").hidden = false;
}
