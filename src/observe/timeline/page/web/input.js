'use strict';

// Handles the wheel, pointers and keys.

/// Returns the item at a position in the picture: {op, bar}, {gap}, {range} or null.
function hit(model, view, x, y) {
    const row = model.rows.find((r) => y >= r.top && y < r.top + r.height);
    if (!row) return null;
    const time = timeOf(view, x), slack = ((view.to - view.from) / view.width) * 3;
    const lane = row.bars[Math.floor((y - row.top) / row.laneHeight)];
    const i = nearest(lane, time, slack);
    if (i >= 0) return selectionOf(model, lane, i);
    return row.isThread ? null : gapAt(model, row.index, time);
}

/// Returns the bar at a time. If there is none, returns the nearest bar within `slack`, or -1.
function nearest(lane, time, slack) {
    const i = lowerBound(lane.end, time);
    const distance = (k) => (k < 0 || k >= lane.start.length ? Infinity
        : Math.max(lane.start[k] - time, time - lane.end[k], 0));
    const best = distance(i) <= distance(i - 1) ? i : i - 1;
    return distance(best) <= slack ? best : -1;
}

function selectionOf(model, lane, i) {
    const item = lane.item[i];
    if (lane.kind === 'range') return {range: item};
    return lane.kind === 'bar' ? {op: model.barOp[item], bar: item}
        : {op: item, bar: model.opBar[item], isCall: true};
}

function gapAt(model, stream, time) {
    const last = model.firstGap[stream + 1];
    const gap = lowerBound(model.gapEndAt, time, model.firstGap[stream], last);
    return gap < last && model.gapBeginAt[gap] <= time ? {gap} : null;
}

/// Returns the place of the selection: {row, lane, time}.
function placeOfSelection(model, selection) {
    if (selection.gap !== undefined)
        return {row: model.rowOfStream[model.gapStream[selection.gap]], lane: 0,
            time: model.gapBeginAt[selection.gap]};
    if (selection.range !== undefined)
        return {row: model.rowOfThread[model.rangeThread[selection.range]],
            lane: model.rangeLane[selection.range], time: model.rangeBegin[selection.range]};
    const bar = selection.isCall ? -1 : selection.bar;
    return {...placeOfOp(model, selection.op, bar), time: timesOfOp(model, selection.op, bar)[0]};
}

/// Returns [begin, end] of the selection.
function timesOfSelection(model, {gap, range, op, bar, isCall}) {
    if (gap !== undefined) return [model.gapBeginAt[gap], model.gapEndAt[gap]];
    if (range !== undefined)
        return [model.rangeBegin[range], model.rangeBegin[range] + model.rangeLength[range]];
    return timesOfOp(model, op, isCall ? -1 : bar);
}

/// Returns the bar that an arrow key selects: the next one on the lane, or the nearest one on the
/// adjacent row.
function neighbour(model, view, selection, right, down) {
    const at = selection ? placeOfSelection(model, selection)
        : {row: model.rows.findIndex((row) => !row.isThread), lane: 0, time: view.from};
    if (!(at.row >= 0)) return null;
    for (let row = at.row + down; row >= 0 && row < model.rows.length; row += down || Infinity) {
        const lane = model.rows[row].bars[down === 0 ? at.lane : 0];
        const first = lowerBound(lane.start, at.time + (right > 0 && selection ? 0.5 : 0));
        const i = down !== 0 ? nearest(lane, at.time, Infinity) : right > 0 ? first : first - 1;
        if (i >= 0 && i < lane.start.length) return selectionOf(model, lane, i);
    }
    return null;
}

/// Pans by dragging with one pointer, and zooms with two. Selects by a click without movement.
function listenToPointers(canvas) {
    const pointers = new Map();
    let moved = 0;
    const at = (event) => ({x: event.offsetX, y: event.offsetY});
    canvas.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) return;
        canvas.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, at(event));
        moved = pointers.size > 1 ? Infinity : 0;
    });
    canvas.addEventListener('pointermove', (event) => {
        const before = pointers.get(event.pointerId), now = at(event);
        if (!before) return page.hover(now);
        const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
        if (other) {
            const span = (a) => Math.max(20, Math.abs(a.x - other.x));
            zoom(page.view, (now.x + other.x) / 2, span(now) / span(before));
        }
        moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
        if (moved > 4) {
            page.hover(null);
            pan(page.view, (before.x - now.x) / pointers.size);
            page.rows.scrollTop += before.y - now.y;
            pointers.set(event.pointerId, now);
            page.requestFrame();
        }
    });
    const end = (event) => {
        if (pointers.delete(event.pointerId) && event.type === 'pointerup' && moved <= 4)
            page.select(page.at(at(event)));
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', end);
    canvas.addEventListener('pointerleave', () => page.hover(null));
    canvas.addEventListener('dblclick', (event) => page.zoomTo(page.at(at(event))));
}

/// Zooms at the cursor by the wheel. With Shift, or a sideways wheel, pans instead. With Alt,
/// scrolls the rows instead.
function listenToWheel(canvas) {
    canvas.addEventListener('wheel', (event) => {
        if (event.altKey) return;
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 30 : 1;
        const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        if (isSideways) pan(page.view, (event.deltaX || event.deltaY) * unit);
        else zoom(page.view, event.offsetX, Math.exp(-event.deltaY * unit * 0.0022));
        page.hover(null);
        page.requestFrame();
    }, {passive: false});
}

/// Moves the view by clicking or dragging in the overview.
function listenToOverview(canvas) {
    const move = (event) => {
        if ((event.buttons & 1) === 0) return;
        const {view} = page, half = (view.to - view.from) / 2;
        const time = view.begin + (event.offsetX / view.width) * (view.end - view.begin);
        show(view, time - half, time + half);
        page.requestFrame();
    };
    canvas.addEventListener('pointerdown', (event) => {
        canvas.setPointerCapture(event.pointerId);
        move(event);
    });
    canvas.addEventListener('pointermove', move);
}

const keyActions = {
    w: () => page.zoomBy(1.5), s: () => page.zoomBy(1 / 1.5),
    '+': () => page.zoomBy(1.5), '-': () => page.zoomBy(1 / 1.5),
    a: () => page.panBy(-0.2), d: () => page.panBy(0.2),
    f: () => page.fit(), n: () => page.step(1), p: () => page.step(-1),
    c: () => page.toggleCritical(), t: () => page.toggleTables(),
    '/': () => page.elements.find.select(),
    '?': () => page.elements.keys.showModal(),
    ArrowLeft: () => page.move(-1, 0), ArrowRight: () => page.move(1, 0),
    ArrowUp: () => page.move(0, -1), ArrowDown: () => page.move(0, 1),
    Enter: () => page.zoomTo(page.selection),
    Escape: () => page.escape(),
};

function listenToKeys() {
    document.addEventListener('keydown', (event) => {
        const isTyping = event.target instanceof HTMLInputElement;
        if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
        if (page.elements.keys.open) return;
        const isOnButton = event.target instanceof HTMLButtonElement;
        const isInTable = event.target.closest?.('#table, #tabs, #why');
        if ((isOnButton && event.key === 'Enter') ||
            (isInTable && event.key.startsWith('Arrow'))) return;
        const action = keyActions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
        if (!action) return;
        event.preventDefault();
        action();
    });
}

function listenToFind(input) {
    input.addEventListener('input', () => page.findWords(input.value));
    input.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') page.step(event.shiftKey ? -1 : 1);
        if (event.key !== 'Escape') return;
        event.preventDefault();
        input.value = '';
        page.findWords('');
        page.elements.bars.focus();
    });
}
