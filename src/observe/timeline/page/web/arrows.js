'use strict';

// Draws the overlay: arrows of waits, the selection, and marks of dropped operations.

function svgElement(name, attributes) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
}

/// Returns the path of an arrow. If the target is below, the path leads from the lower edge of the
/// first bar to the upper edge of the second bar. Otherwise it leads from upper edge to lower edge.
function arrowPath(model, view, scroll, {arrow, from, to}) {
    const a = model.rows[from.row], b = model.rows[to.row];
    const top0 = a.top + from.lane * a.laneHeight - scroll;
    const top1 = b.top + to.lane * b.laneHeight - scroll;
    const isDown = top1 > top0;
    const x1 = xOf(view, model.arrowStart[arrow]);
    const x0 = Math.min(xOf(view, model.arrowFromEnd[arrow]), x1);
    const y0 = isDown ? top0 + a.laneHeight - 1 : top0 + 1;
    const y1 = isDown ? top1 + 1 : top1 + b.laneHeight - 1;
    const back = isDown ? -6 : 6, middle = (y0 + y1) / 2;
    return {
        line: `M${x0} ${y0}C${x0} ${middle} ${x1} ${middle} ${x1} ${y1 + back}`,
        tip: `M${x1 - 4} ${y1 + back}h8L${x1} ${y1}z`,
    };
}

function arrowElement(model, view, scroll, planned) {
    const paths = arrowPath(model, view, scroll, planned);
    const kind = planned.isChosen ? 'chosen' : planned.isBold ? 'bold' : 'thin';
    const group = svgElement('g', {class: `arrow ${kind}`});
    group.append(svgElement('path', {class: 'line', d: paths.line}),
        svgElement('path', {class: 'tip', d: paths.tip}));
    return group;
}

/// Makes a frame around a stretch of a lane.
function frameElement(model, view, scroll, {row, lane}, begin, end, kind) {
    const r = model.rows[row];
    const x0 = Math.max(-4, xOf(view, begin)), x1 = Math.min(view.width + 4, xOf(view, end));
    if (x1 < -3 || x0 > view.width + 3) return null;
    return svgElement('rect', {
        class: kind, x: x0 - 1, y: r.top + lane * r.laneHeight - scroll - 0.5,
        width: Math.max(x1 - x0 + 1, 3), height: r.laneHeight + 1, rx: 2,
    });
}

/// Makes frames for the selection. If an operation is selected, its call has a frame, too. If a
/// call is selected, its operation has a frame, too.
function selectionFrames(model, view, scroll, selection) {
    if (!selection) return [];
    const frame = (place, times, kind) =>
        place && frameElement(model, view, scroll, place, ...times, kind);
    const times = timesOfSelection(model, selection);
    const frames = [frame(placeOfSelection(model, selection), times, 'selected')];
    const {op, bar, isCall} = selection;
    if (op === undefined || bar < 0) return frames;
    const other = isCall ? bar : -1;
    const place = placeOfOp(model, op, other);
    return place ? [frame(place, timesOfOp(model, op, other), 'other'), ...frames] : frames;
}

/// Makes a cross for each dropped operation: on its stream's row, at the time of its call.
function dropMarks(model, view, scroll) {
    const marks = [];
    for (const op of model.dropped) {
        const row = model.rows[model.rowOfStream[model.siteStream[model.opSite[op]]]];
        const x = xOf(view, model.opCall[op]);
        if (!row || x < 0 || x > view.width || marks.length > 200) continue;
        const y = row.top + row.laneHeight / 2 - scroll;
        marks.push(svgElement('path', {class: 'dropped',
            d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`}));
    }
    return marks;
}

/// Replaces the overlay. Returns the number of bold and thin arrows in it.
function drawOverlay(svg, model, view, scroll, planned, selection) {
    const parts = [
        ...dropMarks(model, view, scroll),
        ...planned.map((arrow) => arrowElement(model, view, scroll, arrow)),
        ...selectionFrames(model, view, scroll, selection).filter(Boolean),
    ];
    svg.replaceChildren(...parts);
    return {
        bold: planned.filter((arrow) => arrow.isBold).length,
        thin: planned.filter((arrow) => !arrow.isBold).length,
    };
}
