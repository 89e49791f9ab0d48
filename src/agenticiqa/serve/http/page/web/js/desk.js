// Where work is done: the pictures of a bench in the viewer, the question, and the thread of answers.

import { getJson, startRun } from "./api.js";
import { Bench } from "./bench.js";
import { byId, el, fixed, replace } from "./dom.js";
import { MapStore, localMaps, mapsOf } from "./maps.js";
import { problemCard } from "./messages.js";
import { firstQuestion, nextQuestions, sentFor, suggestions, titleFor } from "./questions.js";
import { RegionPanel } from "./region_panel.js";
import { StartView } from "./start_view.js";
import { rememberThread, threadWith } from "./thread_memory.js";
import { Turn, isAnswered } from "./turn.js";
import { Viewer } from "./viewer.js";
import { t } from "./words.js";

/** What was asked: a comparison that asked for a rating only asked which is better. */
const questionOfRun = (run) => (run.kind === "compare" && run.query === sentFor("") ? "" : (run.query ?? ""));

/** A run with those that stand in one thread with it; what was deleted meanwhile is left out. */
async function threadOf(run) {
  if (threadWith(run.kind, run.id).length === 1) return turnsBefore(run);
  const others = threadWith(run.kind, run.id).map((id) => (id === run.id ? run : getJson(`/v1/runs/${id}`).catch(() => null)));
  return (await Promise.all(others)).filter(Boolean);
}

/** A run behind those that it was asked on from, as the server knows them. */
async function turnsBefore(run) {
  const before = run.request.after ? await getJson(`/v1/runs/${run.request.after}`).catch(() => null) : null;
  return before ? [...(await turnsBefore(before)), run] : [run];
}

export class Desk {
  /** `several(files)` gets what was chosen or dropped together; `shown(kind, title)` tells that a bench is on show. */
  constructor({ several, shown }) {
    this.shown = shown;
    const changed = (bench, slot) => this.pictureChanged(bench, slot);
    this.benches = { assess: new Bench("assess", changed, several), compare: new Bench("compare", changed, several) };
    this.bench = this.benches.assess;
    this.question = byId("question");
    // What was typed before this script had come, or before the page was loaded again, stays.
    if (this.question.value) for (const each of Object.values(this.benches)) each.question = this.question.value;
    this.viewer = new Viewer(byId("viewer"), { regionDrawn: (box) => this.regionDrawn(box), mapChosen: (name) => this.showMap(name), worstToggled: (on) => (this.bench.worstOn = on) });
    this.regionPanel = new RegionPanel(byId("region-asked"), (regions) => this.regionsChanged(regions));
    this.start = new StartView(byId("headline"), byId("examples"), (kind, example, all) => this.runExample(kind, example, all));
    this.maps = new MapStore();
    this.readyTools = new Set();
    this.onShow = false;
    this.hinted = null;
  }

  get visible() {
    return !byId("bench").hidden;
  }

  // --- what is on show ---

  /** Another view comes: what was typed stays with its bench. */
  leave() {
    if (this.onShow) this.bench.question = this.question.value;
    this.onShow = false;
  }

  show(kind) {
    const next = this.benches[kind] ?? this.benches.assess;
    if (next !== this.bench) this.leave();
    this.bench = next;
    this.onShow = true;
    this.shown(next.kind, next.title);
    this.question.value = next.question;
    replace(byId("slots"), next.slots.map((slot) => slot.element), next.more);
    byId("slots").dataset.kind = next.kind;
    replace(byId("thread"), next.thread);
    this.regionPanel.set(next.regions, next.main, next.kind === "compare");
    this.refresh();
  }

  refresh() {
    const { bench } = this;
    const changed = this.viewer.setPictures(bench.shown, bench.kind === "compare" ? "both" : "first");
    this.viewer.setRegions(bench.regions);
    bench.renderMore();
    if (bench.empty) this.start.show(bench.kind);
    else this.start.hide();
    byId("bench").classList.toggle("bench-empty", bench.empty);
    byId("bench").classList.toggle("bench-asked", bench.turns.length > 0);
    this.viewer.setMaps(localMaps(bench.shown), bench.run ? mapsOf(bench.run, this.readyTools) : []);
    this.maps.keepOnly([...this.benches.assess.runs, ...this.benches.compare.runs]);
    // Another view may have been on show: what lay over these pictures comes back.
    if (changed) this.viewer.setWorst(bench.worst, bench.worstOn);
    if (changed && bench.map) this.showMap(bench.map);
    this.refreshForm();
  }

  refreshForm() {
    const { bench } = this;
    const busy = Boolean(bench.active);
    byId("ask").disabled = false;
    byId("ask").textContent = busy ? t("ask.next") : bench.action;
    byId("cancel").hidden = !busy;
    this.renderWaiting();
    // That a picture is missing stays said until it is there, also when the server's lists come later than the press.
    if (!(bench.missing && bench === this.hinted)) byId("ask-hint").textContent = "";
    byId("question-title").textContent = t(bench.kind === "assess" && bench.turns.length ? "bench.assess_more" : `bench.${bench.kind}_question`);
    this.question.placeholder = t(bench.kind === "compare" ? "ask.of_each" : bench.turns.length ? "ask.another" : "ask.anything");
    // Once something was asked, what was found suggests what to ask next.
    byId("suggestions").hidden = busy || bench.turns.length > 0;
    const suggested = suggestions({ region: bench.regions.at(-1)?.name, reference: Boolean(bench.slot("reference").picture), kind: bench.kind }).filter((text) => text !== this.question.value.trim());
    replace(byId("suggestions"), suggested.map((text) => el("button", { type: "button", class: "chip", title: text, onclick: () => this.suggest(text) }, text)));
  }

  renderWaiting() {
    const { waiting } = this.bench;
    byId("waiting").hidden = !waiting.length;
    const item = (question, at) => {
      const remove = el("button", { type: "button", class: "quiet small", "aria-label": t("ask.waiting_remove", { question }), title: t("slot.remove"), onclick: () => this.removeWaiting(at) }, "✕");
      return el("li", {}, el("span", { class: "waiting-mark" }, t("ask.waiting")), el("span", { class: "waiting-question", title: question }, question), remove);
    };
    replace(byId("waiting"), waiting.map(item));
  }

  removeWaiting(at) {
    this.bench.waiting.splice(at, 1);
    this.renderWaiting();
    (byId("waiting").querySelector("button") ?? this.question).focus();
  }

  suggest(text) {
    this.question.value = text;
    this.regionPanel.checkQuestion(text);
    this.question.focus();
  }

  say(problem, again = null) {
    replace(byId("messages"), problemCard(problem, again));
  }

  // --- pictures and regions ---

  pictureChanged(which, slot) {
    if (!which.loading) {
      if (slot === which.slots[0]) which.regions = [];
      this.maps.forgetLocal();
      this.forgetThread(which);
    }
    if (which !== this.bench) return;
    this.regionPanel.set(which.regions, which.main, which.kind === "compare");
    this.refresh();
  }

  /** Answers belong to the pictures they were made from. */
  forgetThread(which) {
    which.active?.stop.abort();
    for (const turn of which.turns) turn.stop();
    Object.assign(which, { active: null, run: null, runs: [], turns: [], waiting: [], map: "", worst: null, worstOn: false, began: which.began + 1 });
    replace(which.thread);
    this.offerFirstQuestion(which);
    if (location.hash.startsWith("#/run/")) window.history.replaceState(null, "", `#/${which.kind}`);
  }

  /** A new thread begins with a question that can be asked at once; what was typed for it stays. */
  offerFirstQuestion(which) {
    const onShow = this.onShow && which === this.bench;
    if (onShow ? this.question.value.trim() : which.question.trim()) return;
    which.question = firstQuestion(which.kind);
    if (onShow) this.question.value = which.question;
  }

  /** The first drag of a new box adds it, further moves change it. */
  regionDrawn(box) {
    const { regions } = this.bench;
    const stretching = this.viewer.startedBox && regions.length;
    const name = stretching ? regions.at(-1).name : this.regionPanel.freeName(t("region.first"), regions.length);
    this.viewer.startedBox = true;
    this.regionsChanged([...(stretching ? regions.slice(0, -1) : regions), { name, box, inside: this.bench.kind === "compare" && (stretching ? regions.at(-1).inside : !regions.length) }]);
  }

  regionsChanged(regions) {
    const { bench } = this;
    const before = bench.regions;
    bench.regions = regions;
    this.viewer.setRegions(regions);
    this.regionPanel.set(regions, bench.main, bench.kind === "compare");
    const [old, now] = [before.at(-1)?.name, regions.at(-1)?.name];
    if (old !== now && bench.kind === "assess") {
      const asked = this.question.value.trim();
      const onlySuggested = !asked || [suggestions({ reference: true }), old ? suggestions({ region: old }) : [], [bench.question]].flat().includes(asked);
      // A question that was only suggested makes way for one about the region, and the other way round.
      if (onlySuggested) [this.question.value] = suggestions({ region: now });
      this.refreshForm();
      byId("suggestions").hidden = Boolean(bench.active);
    }
    this.regionPanel.checkQuestion(this.question.value);
  }

  async takeFiles(files) {
    const { bench } = this;
    if (files.length === 2 && bench.kind === "compare") await Promise.all(files.map((file, at) => bench.slots[at].takeFile(file)));
    else await bench.nextSlot.takeFile(files[0]);
  }

  /** Pictures that the server keeps, as [{path, name, kept}]: one to assess, two to compare. */
  async takeKept(pictures) {
    const which = this.benches[pictures.length === 2 ? "compare" : "assess"];
    for (const slot of which.slots) slot.clear();
    location.hash = `#/${which.kind}`;
    try {
      for (const [at, { path, name, kept }] of pictures.entries()) await which.slots[at].takeStored(path, name, kept);
    } catch (problem) {
      this.say(problem);
    }
  }

  // --- maps ---

  async showMap(name) {
    const { viewer, bench } = this;
    const { run, shown } = bench;
    viewer.wantMap(name);
    bench.map = name;
    if (!name) return;
    viewer.say(t("maps.drawing"));
    try {
      const map = await this.maps.find(name, shown, run);
      if (bench === this.bench && viewer.wantedMap === name) viewer.setMap(map);
    } catch (problem) {
      if (bench === this.bench && viewer.wantedMap === name) viewer.say(problem.message);
    }
  }

  /** The picture stays bare: the worst place is asked for so that one press can mark it. */
  async offerWorst(which, run) {
    if (run.kind !== "assess" || !isAnswered(run)) return;
    const worst = await this.worstOf(run);
    if (run !== which.run) return;
    which.worst = worst;
    if (which === this.bench) this.viewer.setWorst(worst, which.worstOn);
  }

  async worstOf(run) {
    try {
      const { box, score, whole, even } = await getJson(run.links.worst);
      return even ? { box: null, more: t("viewer.even", { score: fixed(whole, 1) }) } : { box, name: t("viewer.worst", { score: fixed(score, 1) }), more: null };
    } catch {
      // Without the picture there is no place to mark; the answer stands without it.
      return null;
    }
  }

  // --- asking ---

  async ask(text = this.question.value) {
    const which = this.bench;
    const question = text.trim();
    // The second press of a double click has nothing to ask.
    if (which.active && !question) return;
    this.hinted = null;
    if (which.missing) {
      this.hinted = which;
      byId("ask-hint").textContent = t("ask.missing", { label: which.missing.label });
      which.missing.element.querySelector("input").focus();
      return;
    }
    if (!question && which.kind === "assess") {
      byId("ask-hint").textContent = t("ask.nothing");
      this.question.focus();
      return;
    }
    // The question stands in the thread from now on; its field is for the next one.
    which.question = "";
    this.question.value = "";
    if (which.active || which.waiting.length) this.askLater(which, question);
    else await this.askNow(which, question);
  }

  /** A question waits until those before it have their answers. */
  askLater(which, question) {
    which.waiting.push(question);
    this.announce(t("ask.waiting_said", { question }));
    if (which.active) this.renderWaiting();
    else this.askWaiting(which);
  }

  async askWaiting(which) {
    if (which.active || !which.waiting.length) return;
    await this.askNow(which, which.waiting.shift());
  }

  async askNow(which, question) {
    const stop = new AbortController();
    const turn = this.newTurn(which, question);
    const active = { stop, turn, run: null };
    which.active = active;
    this.refreshForm();
    const begin = () => startRun(which.kind, which.form(question, byId("backend").value), stop.signal, (share) => turn.sending(share));
    const beginOrSendAgain = async () => {
      try {
        return await begin();
      } catch (problem) {
        const again = { picture_gone: () => which.sendAgain(), run_not_found: () => which.forgetRun() }[problem.kind];
        if (!again?.()) throw problem;
        return beginOrSendAgain();
      }
    };
    const ended = await this.carryOut(which, active, beginOrSendAgain, () => this.askAgain(which, turn), true);
    // Where the server could not be asked, the questions that wait do so until one got through.
    if (ended) await this.askWaiting(which);
  }

  newTurn(which, question) {
    for (const each of which.turns) each.suggest([], () => {});
    const turn = new Turn(question, titleFor(which.kind, question), which.turns.length === 0, (words) => this.announce(words));
    which.turns.push(turn);
    if (which === this.bench) byId("bench").classList.add("bench-asked");
    which.thread.append(turn.element);
    // What was pressed, an example or a suggestion, is gone by now: a keyboard goes on from the question it asked.
    if (!document.activeElement?.checkVisibility() || document.activeElement === document.body) turn.heading.focus({ preventScroll: true });
    turn.element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    return turn;
  }

  askAgain(which, failed) {
    which.turns = which.turns.filter((turn) => turn !== failed);
    failed.element.remove();
    return this.askNow(which, failed.question);
  }

  /**
   * Starts or finds a run, follows it, and shows what came of it; true where it has ended. `asked`: from now on the page's
   * address leads to it.
   */
  async carryOut(which, active, begin, again, asked = false) {
    try {
      active.run = await begin();
      if (which.active !== active) return false;
      if (asked && this.onShow && this.bench === which) window.history.pushState(null, "", `#/run/${active.run.id}`);
      if (asked) rememberThread(which.kind, [...which.runs.map((run) => run.id), active.run.id]);
      const ended = await active.turn.follow(active.run, active.stop.signal);
      if (which.active !== active) return false;
      if (isAnswered(ended)) which.run = ended;
      which.runs.push(ended);
      which.keptBy(ended);
      which.active = null;
      if (isAnswered(ended)) active.turn.suggest(nextQuestions(ended, which.asked), (text) => this.ask(text));
      if (which === this.bench) this.refresh();
      await this.offerWorst(which, ended);
      return true;
    } catch (problem) {
      if (problem.name !== "AbortError" && which.active === active) active.turn.fail(problem, again);
      return false;
    } finally {
      active.turn.stop();
      if (which.active === active) which.active = null;
      if (which === this.bench) this.refreshForm();
    }
  }

  async cancel() {
    const { bench } = this;
    const { active } = bench;
    if (!active) return;
    if (!active.run) {
      // Not accepted yet: nothing on the server has to be told.
      active.stop.abort();
      active.turn.stop();
      active.turn.element.remove();
      bench.turns = bench.turns.filter((turn) => turn !== active.turn);
      bench.active = null;
      this.refreshForm();
      await this.askWaiting(bench);
      return;
    }
    byId("cancel").disabled = true;
    try {
      await active.turn.cancel(active.run);
    } catch (problem) {
      this.say(problem);
    } finally {
      byId("cancel").disabled = false;
    }
  }

  async runExample(kind, example, all) {
    const which = this.benches[kind];
    const original = all.find((each) => each.name === example.reference);
    const question = kind === "compare" ? "" : example.query;
    try {
      const wanted = kind === "compare" ? [["image_a", original], ["image_b", example]] : [["image", example]];
      const taken = await Promise.all(wanted.map(([name, each]) => which.slot(name).takeExample(each)));
      // Another picture may have been chosen meanwhile, or another view.
      if (taken.every(Boolean) && this.onShow && which === this.bench) await this.ask(question);
    } catch (problem) {
      this.say(problem, () => this.runExample(kind, example, all));
    }
  }

  // --- earlier runs ---

  async openRun(id) {
    const open = Object.values(this.benches).find((each) => each.turns.some((turn) => turn.runId === id));
    if (open) {
      this.show(open.kind);
      open.turns.find((turn) => turn.runId === id).element.scrollIntoView({ block: "nearest" });
      return;
    }
    try {
      const run = await getJson(`/v1/runs/${id}`);
      const which = this.benches[run.kind];
      const runs = await threadOf(run);
      this.forgetThread(which);
      window.history.replaceState(null, "", `#/run/${id}`);
      which.loading = true;
      which.question = "";
      this.show(which.kind);
      await this.takePictures(which, run);
      which.regions = Object.entries(run.request.regions ?? {}).map(([name, box]) => ({ name, box }));
      which.loading = false;
      this.show(which.kind);
      await this.showRuns(which, runs, id);
    } catch (problem) {
      this.show(this.bench.kind);
      this.say(problem, () => this.openRun(id));
    }
  }

  /** Runs that ended, and perhaps one that has not, one below the other. */
  async showRuns(which, runs, id) {
    const { began } = which;
    for (const run of runs) {
      const active = { stop: new AbortController(), turn: this.newTurn(which, questionOfRun(run)), run };
      which.active = active;
      await this.carryOut(which, active, async () => run, () => this.openRun(id));
      // Another picture begins another thread.
      if (which.began !== began) return;
    }
    await this.askWaiting(which);
  }

  async takePictures(which, run) {
    for (const slot of which.slots) {
      try {
        if (run.links[slot.name]) await slot.takeStored(run.links[slot.name], run.request.pictures[slot.name], `${run.id}/${slot.name}`);
        else slot.clear();
      } catch (problem) {
        slot.clear();
        this.say(problem);
      }
    }
  }

  announce(words) {
    byId("announcer").textContent = words;
  }
}
