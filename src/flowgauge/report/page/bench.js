"use strict";
/* The trials of a bench: filter, sort, pages, rows that open. Text goes in by textContent only. */
(() => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const data = JSON.parse(byId("data").textContent);
  const F = Object.fromEntries(data.fields.map((name, index) => [name, index]));
  const { configs, cases, categories, models, checks } = data;
  const rows = data.rows;

  const duration = (ms) => {
    if (ms === null || ms === undefined) return "–";
    if (ms < 1) return `${Math.round(ms * 1000)} µs`;
    if (ms < 1000) return `${ms < 100 ? +ms.toPrecision(3) : Math.round(ms)} ms`;
    const seconds = ms / 1000;
    return seconds < 120 ? `${+seconds.toPrecision(3)} s` : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  };
  const cost = (usd, source) => {
    if (source === "none") return "–";
    if (usd === null) return "unpriced";
    if (usd === 0) return "$0";
    return `$${usd.toFixed(usd < 0.01 ? 6 : usd < 1 ? 4 : 2)}${source === "computed" ? "†" : ""}`;
  };
  const outcome = (row) => (row[F.ok] ? (row[F.category] < 0 ? ["✓ ok", "good"] : [`✓ ok, ${categories[row[F.category]]}`, "warn"])
    : [`✗ ${row[F.category] < 0 ? row[F.status] : categories[row[F.category]]}`, "bad"]);

  const COLUMNS = [
    { title: "configuration", of: (row) => configs[row[F.config]], kind: "name" },
    { title: "outcome", of: (row) => outcome(row)[0], show: (row) => outcome(row) },
    { title: "case", of: (row) => cases[row[F.case]].name, kind: "long" },
    { title: "run", of: (row) => row[F.repetition] + 1, kind: "r" },
    { title: "time", of: (row) => row[F.duration_ms], show: (row) => [duration(row[F.duration_ms])], kind: "r" },
    { title: "tokens", of: (row) => row[F.tokens_prompt] + row[F.tokens_completion], kind: "r",
      show: (row) => [row[F.tokens_prompt] || row[F.tokens_completion] ? `${row[F.tokens_prompt]} → ${row[F.tokens_completion]}` : "–"] },
    { title: "cost", of: (row) => (row[F.cost_usd] === null ? -1 : row[F.cost_usd]), show: (row) => [cost(row[F.cost_usd], row[F.cost_source])], kind: "r" },
    { title: "answer", of: (row) => row[F.why] || row[F.output], show: (row) => [(row[F.why] || row[F.output]).slice(0, 120)], kind: "clip" },
  ];
  const state = { sort: -1, down: false, page: 0, open: new Set() };
  let shown = rows;

  const choose = (id, names) => {
    const select = byId(id);
    names.forEach((name, index) => { const option = make("option", name); option.value = String(index); select.append(option); });
    select.addEventListener("change", apply);
  };
  const texts = new Map();
  const textOf = (row) => {
    let text = texts.get(row);
    if (text === undefined) {
      text = [row[F.run_id], configs[row[F.config]], cases[row[F.case]].name, row[F.output], row[F.why], models[row[F.model]]].join("\n").toLowerCase();
      texts.set(row, text);
    }
    return text;
  };

  function apply() {
    const words = byId("find").value.trim().toLowerCase();
    const [config, kase, result] = ["config", "case", "outcome"].map((id) => byId(id).value);
    shown = rows.filter((row) => (config === "" || row[F.config] === +config) && (kase === "" || row[F.case] === +kase)
      && (result === "" || (result === "ok" ? row[F.ok] : result === "bad" ? !row[F.ok] : row[F.category] === +result))
      && (words === "" || textOf(row).includes(words)));
    if (state.sort >= 0) {
      const { of } = COLUMNS[state.sort];
      const order = state.down ? -1 : 1;
      const collator = new Intl.Collator(undefined, { numeric: true });
      shown.sort((a, b) => { const x = of(a), y = of(b); return order * (typeof x === "number" ? x - y : collator.compare(x, y)); });
    }
    state.page = 0;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    const body = byId("rows");
    body.replaceChildren();
    for (const row of shown.slice(state.page * PAGE, (state.page + 1) * PAGE)) {
      body.append(line(row));
      if (state.open.has(row)) body.append(detail(row));
    }
    byId("count").textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} trials`;
    byId("page").textContent = `page ${state.page + 1} of ${pages.toLocaleString("en")}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page >= pages - 1;
    [...byId("head").children].forEach((cell, index) => {
      if (index === state.sort) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending"); else cell.removeAttribute("aria-sort");
      cell.firstChild.textContent = COLUMNS[index].title + (index === state.sort ? (state.down ? " ↓" : " ↑") : "");
    });
  }

  function line(row) {
    const element = make("tr", undefined, state.open.has(row) ? "row open" : "row");
    element.tabIndex = 0;
    element.setAttribute("aria-expanded", String(state.open.has(row)));
    for (const column of COLUMNS) {
      const [text, colour] = column.show ? column.show(row) : [String(column.of(row))];
      element.append(make("td", text, [column.kind, colour].filter(Boolean).join(" ")));
    }
    const toggle = () => {
      if (!state.open.delete(row)) state.open.add(row);
      const fresh = line(row);
      if (element.nextSibling && element.nextSibling.className === "detail") element.nextSibling.remove();
      element.replaceWith(fresh);
      if (state.open.has(row)) fresh.after(detail(row));
      fresh.focus();
    };
    element.addEventListener("click", toggle);
    element.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); } });
    return element;
  }

  function detail(row) {
    const element = make("tr", undefined, "detail");
    const cell = make("td");
    cell.colSpan = COLUMNS.length;
    const inside = make("div", undefined, "inside");
    const part = (title, text) => { if (text) inside.append(make("h3", title), make("pre", text)); };
    part(row[F.ok] ? "remark" : "why it did not succeed", row[F.why] + (row[F.trace] ? `\n\n${row[F.trace]}` : ""));
    part("inputs", cases[row[F.case]].inputs);
    part("expected", cases[row[F.case]].expected);
    part("output", row[F.output]);
    part("checks", row[F.checks].map(([name, passed, score, reason]) => {
      const mark = passed === null ? "·" : passed ? "✓" : "✗";
      return `${mark} ${checks[name]}${score === null ? "" : `  ${score}`}${reason ? `\n  ${reason}` : ""}`;
    }).join("\n"));
    part("measured", [["run id", row[F.run_id]], ["model", models[row[F.model]]], ["time", duration(row[F.duration_ms])],
      ["first token", row[F.first_token_ms] === null ? "" : duration(row[F.first_token_ms])], ["queue", row[F.queue_ms] ? duration(row[F.queue_ms]) : ""],
      ["back-off", row[F.backoff_ms] ? duration(row[F.backoff_ms]) : ""], ["retries", row[F.retries] || ""], ["from the cache", row[F.cached] ? "yes" : ""],
      ["play", row[F.play_sid]]].filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`).join("\n"));
    cell.append(inside);
    element.append(cell);
    return element;
  }

  COLUMNS.forEach((column, index) => {
    const cell = make("th", undefined, column.kind === "r" ? "r" : "");
    const button = make("button", column.title);
    button.addEventListener("click", () => { state.down = state.sort === index ? !state.down : false; state.sort = index; apply(); });
    cell.append(button);
    byId("head").append(cell);
  });
  choose("config", configs);
  choose("case", cases.map((one) => one.name));
  choose("outcome", categories);
  let timer = 0;
  byId("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 120); });
  byId("previous").addEventListener("click", () => { state.page -= 1; draw(); });
  byId("next").addEventListener("click", () => { state.page += 1; draw(); });
  byId("trials").hidden = false;
  draw();
})();
