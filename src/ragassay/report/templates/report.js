"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const list = $("list");
  const rows = Array.from(list.querySelectorAll("details.row"));
  const worst = new Map(rows.map((row, place) => [row, place]));
  const texts = new Map();
  // Packed rows: BLOCK of them in each element, as escaped HTML (see packed_rows.py).
  const BLOCK = 64;
  let blocks = [];
  const packed = (row) => {
    const place = worst.get(row);
    const block = blocks[Math.floor(place / BLOCK)];
    return block && !row.dataset.whole ? block[place % BLOCK] : null;
  };
  const whole = (row) => {
    const html = packed(row);
    if (html === null || html === undefined) return;
    row.dataset.whole = "1";
    row.querySelector(".body").innerHTML = html;
  };
  const text = (row) => {
    if (!texts.has(row)) {
      const inert = document.createElement("template");
      inert.innerHTML = packed(row) || "";
      texts.set(row, (row.textContent + inert.content.textContent).toLowerCase());
    }
    return texts.get(row);
  };
  const unpack = async (element) => {
    const bytes = Uint8Array.from(atob(element.content.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const filter = () => {
    const find = $("find").value.trim().toLowerCase(), verdict = $("verdict").value, cause = $("cause").value;
    let shown = 0;
    for (const row of rows) {
      const fits = (!verdict || row.dataset.v === verdict) && (!cause || row.dataset.c === cause) && (!find || text(row).includes(find));
      row.hidden = !fits;
      shown += fits;
    }
    $("count").textContent = shown === 1 ? "1 row" : shown + " rows";
    $("none").hidden = shown > 0;
  };
  const value = (row, metric, sign) => {
    const found = row.dataset.m.split(" ")[metric];
    return found === "-" ? Infinity : sign * Number(found);
  };
  const sort = () => {
    const by = $("sort").value;
    const key = /^[mh]\d/.test(by) ? (row) => value(row, Number(by.slice(1)), by[0] === "h" ? -1 : 1) : by === "index" ? (row) => Number(row.dataset.i) : (row) => worst.get(row);
    const id = (row) => row.querySelector(".id").textContent;
    const keys = new Map(rows.map((row) => [row, by === "id" ? id(row) : key(row)]));
    const ordered = rows.slice().sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (typeof x === "string") return x.localeCompare(y, undefined, { numeric: true });
      return x === y ? worst.get(a) - worst.get(b) : x < y ? -1 : 1;
    });
    list.append(...ordered);
  };
  const reveal = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const of = /^r\d+(?=[ce]\d+$)/.exec(name);
    if (of && $(of[0])) whole($(of[0]));
    const target = name ? $(name) : null;
    const row = target && target.closest("details.row");
    if (!row) return;
    whole(row);
    row.hidden = false;
    row.open = true;
    target.scrollIntoView({ block: target === row ? "start" : "center" });
  };
  const step = (by) => {
    const shown = Array.from(list.querySelectorAll("details.row")).filter((row) => !row.hidden);
    const at = shown.findIndex((row) => row.contains(document.activeElement));
    const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
    if (!next) return;
    if (at >= 0 && shown[at] !== next) shown[at].open = false;
    whole(next);
    next.open = true;
    next.querySelector("summary").focus();
    next.scrollIntoView({ block: "start" });
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  let waiting = 0;
  $("find").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const id of ["verdict", "cause"]) $(id).addEventListener("change", filter);
  $("sort").addEventListener("change", sort);
  addEventListener("hashchange", reveal);
  let closed = [];
  addEventListener("beforeprint", () => { closed = rows.filter((row) => !row.open && !row.hidden); for (const row of closed) { whole(row); row.open = true; } });
  addEventListener("afterprint", () => { for (const row of closed) row.open = false; });
  list.addEventListener("toggle", (event) => { if (event.target.open) whole(event.target); }, true);
  document.querySelector(".tools").hidden = false;
  filter();
  reveal();
  const elements = Array.from(list.querySelectorAll("template.z"));
  if (elements.length) Promise.all(elements.map(unpack)).then((all) => {
    blocks = all;
    texts.clear();
    for (const row of rows) if (row.open) whole(row);
    if (location.hash.length > 1) reveal();
    if ($("find").value) filter();
    document.body.dataset.ready = "1";
  }).catch(() => { $("old").hidden = false; });
})();
