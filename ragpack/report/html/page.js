"use strict";
// The list of questions. Everything that comes from the data is set as text, never as HTML.
(() => {
  const PAGE = 40; // questions that are drawn at once
  const $$ = (id) => document.getElementById(id);
  const index = JSON.parse($$("index").textContent);
  const chosen = new Set(); // verdicts, by number; none: all
  let matches = [];
  let drawn = 0;

  function el(tag, given = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const words = (verdict) => verdict.replaceAll("_", " ") || "no verdict";
  const kind = (verdict) => "v-" + (verdict || "none");
  const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
  const cell = (value, right = false) => el("td", { class: right ? "r" : null, dir: right ? null : "auto" }, value);

  function table(heads, lines) {
    const head = el("tr", {}, ...heads.map(([text, right]) => el("th", { scope: "col", class: right ? "r" : null }, text)));
    return el("div", { class: "wide" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...lines)));
  }

  // ---- filters

  function fill(id, names, all, label) {
    const select = $$(id);
    select.append(el("option", { value: "" }, all));
    names.forEach((name, at) => select.append(el("option", { value: at }, label(name))));
    select.closest("label").hidden = names.length < 2;
    select.addEventListener("change", draw);
  }

  fill("policy", index.policies, "all policies", (name) => name);
  fill("budget", index.budgets, "all budgets", (name) => String(name));
  fill("model", index.models, "all readers", (name) => name || "no reader");
  fill("group", index.groups, "all datasets", (name) => name || "no name");

  const chips = index.verdicts.map((verdict, at) => {
    const count = el("b", {}, "");
    const chip = el("button", { type: "button", class: "chip " + kind(verdict), "aria-pressed": "false", "data-verdict": verdict },
      el("i", {}), words(verdict), count);
    chip.addEventListener("click", () => {
      if (!chosen.delete(at)) chosen.add(at);
      draw();
    });
    $$("chips").append(chip);
    return { chip, count };
  });

  const folded = (text) => text.normalize("NFKC").toLowerCase();
  const texts = index.items.map((item) => folded([item.id, item.question, ...item.answers].join("\n")));
  const selected = (id) => ($$(id).value === "" ? null : Number($$(id).value));

  // Rows of an item that the selects let through; the verdicts are counted among these.
  function rowsOf(item, policy, budget, model) {
    return item.rows.map((row, at) => at).filter((at) => {
      const [, p, b, m] = item.rows[at];
      return (policy === null || p === policy) && (budget === null || b === budget) && (model === null || m === model);
    });
  }

  function draw() {
    const [policy, budget, model, group] = ["policy", "budget", "model", "group"].map(selected);
    const wanted = folded($$("search").value).split(/\s+/).filter(Boolean);
    const counts = index.verdicts.map(() => 0);
    matches = [];
    index.items.forEach((item, at) => {
      if (group !== null && item.group !== group) return;
      if (!wanted.every((word) => texts[at].includes(word))) return;
      const rows = rowsOf(item, policy, budget, model);
      new Set(rows.map((row) => item.rows[row][0])).forEach((verdict) => { counts[verdict] += 1; });
      const kept = rows.filter((row) => !chosen.size || chosen.has(item.rows[row][0]));
      if (kept.length) matches.push({ at, rows: kept });
    });
    chips.forEach(({ chip, count }, at) => {
      chip.setAttribute("aria-pressed", String(chosen.has(at)));
      count.textContent = counts[at].toLocaleString("en");
    });
    const all = index.items.length;
    $$("count").textContent = `${matches.length.toLocaleString("en")} of ${all.toLocaleString("en")} questions`;
    $$("list").replaceChildren();
    drawn = 0;
    if (!matches.length) $$("list").append(el("p", { class: "empty" }, "No question fits these filters."));
    more();
  }

  function more() {
    const next = matches.slice(drawn, drawn + PAGE);
    $$("list").append(...next.map(question));
    drawn += next.length;
    $$("more").hidden = drawn >= matches.length;
  }

  // ---- one question

  function question({ at, rows }) {
    const item = index.items[at];
    const tally = new Map();
    rows.forEach((row) => tally.set(item.rows[row][0], (tally.get(item.rows[row][0]) || 0) + 1));
    const parts = [...tally].sort((a, b) => a[0] - b[0]).map(([verdict, count]) =>
      el("span", { class: kind(index.verdicts[verdict]) }, el("i", {}),
        words(index.verdicts[verdict]) + (rows.length > 1 ? ` ${count}` : "")));
    const node = el("details", { class: "question", "data-id": item.id },
      el("summary", {},
        el("span", { class: "asked", dir: "auto" }, item.question),
        el("span", { class: "tally" }, ...parts),
        el("span", { class: "id" }, item.id)));
    node.addEventListener("toggle", () => {
      if (node.open && !node.querySelector(".body")) node.append(body(at, rows));
    });
    return node;
  }

  function body(at, rows) {
    const item = index.items[at];
    const detail = JSON.parse($$("question-" + at).textContent);
    const answers = item.answers.length
      ? el("ul", { class: "golds" }, ...item.answers.map((answer) => el("li", { dir: "auto" }, answer)))
      : el("p", { class: "note" }, "none known");
    const found = el("div", { class: "body" }, el("h4", {}, "Gold answers"), answers);
    detail.hits.forEach((hits, variant) => {
      const several = detail.hits.length > 1 ? ` (${variant + 1} of ${detail.hits.length})` : "";
      found.append(el("h4", {}, "Hits" + several), hitsOf(hits));
      if (detail.missed[variant].length) {
        found.append(el("p", { class: "note", dir: "auto" }, "Gold documents that are not among the hits: " + detail.missed[variant].join("; ")));
      }
    });
    found.append(el("h4", {}, "Rows"));
    rows.forEach((row, place) => found.append(rowOf(item, detail, row, place === 0)));
    const others = item.rows.map((_, row) => row).filter((row) => !rows.includes(row));
    if (others.length) {
      found.append(el("h4", {}, "Rows of this question that the filters leave out"));
      others.forEach((row) => found.append(rowOf(item, detail, row, false)));
    }
    found.append(el("p", { class: "note" }, el("a", { class: "link", href: "#q=" + encodeURIComponent(item.id) }, "Link to this question")));
    return found;
  }

  function hitsOf(hits) {
    const names = [...new Set(hits.flatMap((hit) => Object.keys(hit.scores || {})))];
    const heads = [["rank", true], ["title"], ["gold"], ["has answer"], ["score", true], ...names.map((name) => [name, true])];
    return table(heads, hits.map((hit) => el("tr", {},
      cell(String(hit.rank), true), cell(hit.title),
      el("td", { class: "gold" }, hit.gold ? "★ gold" : ""),
      cell(hit.has_answer === null ? "–" : hit.has_answer ? "yes" : "no"),
      cell(number(hit.score, 3), true), ...names.map((name) => cell(number((hit.scores || {})[name], 3), true)))));
  }

  function rowOf(item, detail, at, open) {
    const [verdict, policy, budget, model, seed] = item.rows[at];
    const row = detail.rows[at];
    const name = index.verdicts[verdict];
    const labels = [`budget ${index.budgets[budget]}`];
    if (index.models.length > 1) labels.push(index.models[model] || "no reader");
    if (seed !== null) labels.push(`seed ${seed}`);
    const numbers = [`${row.tokens} tokens`, `AiC ${number(row.answer_in_context, 0)}`];
    if (row.f1 !== null && row.f1 !== undefined) numbers.push(`F1 ${number(row.f1)}`);
    const node = el("details", { class: "row " + kind(name), open },
      el("summary", {},
        el("span", { class: "verdict" }, words(name)),
        el("span", {}, `${index.policies[policy]}, ${labels.join(", ")}`),
        el("span", { class: "numbers" }, numbers.join(" · ")),
        row.answer === null ? null : el("span", { class: "said", dir: "auto" }, row.answer.trim() || "(empty answer)")));
    const inside = () => { if (!node.querySelector(".inside")) node.append(insideOf(row)); };
    node.addEventListener("toggle", () => { if (node.open) inside(); });
    if (open) inside();
    return node;
  }

  function insideOf(row) {
    const pieces = row.context.map((piece, at) => (at % 2 ? el("mark", {}, piece) : piece));
    const empty = row.context.join("") === "";
    const measured = [["EM", row.em, 0], ["F1", row.f1, 3], ["AiC", row.answer_in_context, 0], ["graded AiC", row.graded, 2],
      ["coverage", row.gold_doc_coverage, 2], ["density", row.gold_token_density, 2], ["prompt tokens", row.prompt_tokens, 0]]
      .filter(([, value]) => value !== null && value !== undefined).map(([name, value, digits]) => `${name} ${number(value, digits)}`);
    const inside = el("div", { class: "inside" });
    if (row.answer !== null) {
      inside.append(el("h4", {}, "Reader’s answer" + (row.finish === "length" ? " (cut: the most tokens were reached)" : "")),
        el("p", { class: "answer", dir: "auto" }, row.answer || "(empty)"));
    }
    inside.append(el("h4", {}, `Context, ${row.tokens} tokens`), el("p", { class: "context", dir: "auto" }, ...(empty ? ["(empty)"] : pieces)),
      el("p", { class: "note" }, measured.join(" · ")));
    if (row.snippets.length) {
      const gains = row.snippets.some((one) => one.gain !== null);
      inside.append(el("h4", {}, `Kept: ${row.snippets.length}`), table(
        [["hit", true], ["title"], ["gold"], ["tokens", true], ["relevance", true], ...(gains ? [["gain", true]] : [])],
        row.snippets.map((one) => el("tr", {}, cell(String(one.rank), true), cell(one.title), el("td", { class: "gold" }, one.gold ? "★ gold" : ""),
          cell(String(one.tokens), true), cell(number(one.relevance), true), gains ? cell(number(one.gain, 3), true) : null))));
    }
    inside.append(el("h4", {}, `Dropped: ${row.dropped}`));
    if (row.explain && row.explain.length) {
      const names = [...new Set(row.explain.flatMap(Object.keys))];
      const shown = (value) => (value === null || value === undefined ? "–" : typeof value === "number" && !Number.isInteger(value)
        ? number(value, 3) : typeof value === "string" ? value : JSON.stringify(value));
      const right = (name) => row.explain.every((one) => typeof one[name] !== "string");
      inside.append(table(names.map((one) => [one.replaceAll("_", " "), right(one)]),
        row.explain.map((one) => el("tr", {}, ...names.map((key) => cell(shown(one[key]), right(key)))))));
    }
    return inside;
  }

  // ---- tables, links, keys

  function value(text) {
    const found = text.replaceAll("−", "-").replaceAll(",", "").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  }

  document.querySelectorAll("table.sortable").forEach((sorted) => {
    const rows = [...sorted.tBodies[0].rows];
    [...sorted.tHead.rows[0].cells].forEach((head, at) => head.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !head.classList.contains("r"));
      [...sorted.tHead.rows[0].cells].forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const text = (row) => row.cells[at].textContent;
      const order = head.classList.contains("r")
        ? (a, b) => {
          const [x, y] = [value(text(a)), value(text(b))];
          if (x === null || y === null) return (x === null) - (y === null); // the undefined stand last, either way
          return up ? x - y : y - x;
        }
        : (a, b) => (up ? 1 : -1) * text(a).localeCompare(text(b));
      sorted.tBodies[0].append(...[...rows].sort(order));
    }));
  });

  document.querySelectorAll(".part").forEach((part) => part.addEventListener("click", () => {
    clear();
    const { verdict, policy, budget, model } = part.dataset;
    chosen.add(index.verdicts.indexOf(verdict));
    $$("policy").value = index.policies.indexOf(policy);
    $$("budget").value = index.budgets.indexOf(Number(budget));
    $$("model").value = index.models.indexOf(model);
    draw();
    $$("questions").scrollIntoView();
  }));

  // Not the form's own reset: its event comes in between, and would draw the list a second time.
  function clear() {
    ["search", "policy", "budget", "model", "group"].forEach((id) => { $$(id).value = ""; });
    chosen.clear();
  }

  function linked() {
    if (!location.hash.startsWith("#q=")) return;
    let id = location.hash.slice(3);
    try { id = decodeURIComponent(id); } catch { return; }
    const at = index.items.findIndex((item) => item.id === id);
    if (at < 0) return;
    clear();
    draw();
    const place = matches.findIndex((match) => match.at === at);
    while (drawn <= place) more();
    const node = $$("list").children[place];
    node.open = true;
    node.scrollIntoView();
  }

  $$("filters").addEventListener("submit", (event) => event.preventDefault());
  $$("clear").addEventListener("click", () => { clear(); draw(); });
  $$("search").addEventListener("input", draw);
  $$("more").addEventListener("click", more);
  new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) more(); }, { rootMargin: "600px" }).observe($$("more"));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      $$("search").focus();
    }
  });
  window.addEventListener("hashchange", linked);
  draw();
  linked();
})();
