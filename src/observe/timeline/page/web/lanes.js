'use strict';

// Rows and their lanes. The bars of a lane are in order of time and do not overlap. `sums` adds up
// the bars' lengths.

const laneHeights = {stream: 26, thread: 16};
const rowGap = 10, headHeight = 30;

/// Makes the rows and the headings of their groups, and places both.
function placeRows(model) {
    const {head} = model;
    let top = 0, device = null;
    model.heads = [];
    model.rows = head.rows.map((row) => {
        const group = row.isThread ? -1 : head.streams[row.index].device;
        if (group !== device) {
            model.heads.push({top, device: group});
            top += headHeight;
        }
        device = group;
        const laneHeight = row.isThread ? laneHeights.thread : laneHeights.stream;
        const placed = {...row, top, laneHeight, height: laneHeight * row.lanes, bars: []};
        top += placed.height + rowGap;
        return placed;
    });
    model.height = top;
}

function emptyLane(kind, count) {
    return {
        kind,
        start: new Float64Array(count),
        end: new Float64Array(count),
        item: new Int32Array(count),
        look: new Uint8Array(count),
        sum: new Float64Array(count + 1),
        filled: 0,
    };
}

function sortLane(lane) {
    const order = sortedIndices(lane.start);
    for (const name of ['start', 'end', 'item', 'look'])
        lane[name] = lane[name].map((_, i, all) => all[order[i]]);
}

function finishLane(lane) {
    let isSorted = true;
    for (let i = 1; i < lane.start.length && isSorted; ++i)
        isSorted = lane.start[i - 1] <= lane.start[i];
    if (!isSorted) sortLane(lane);
    for (let i = 0; i < lane.start.length; ++i)
        lane.sum[i + 1] = lane.sum[i] + (lane.end[i] - lane.start[i]);
}

/// Distributes items to lanes. `laneOf` returns the lane's index for an item, or -1 to leave it
/// out.
function fillLanes(kind, lanes, count, laneOf, put) {
    const sizes = new Int32Array(lanes.length);
    for (let i = 0; i < count; ++i) {
        const lane = laneOf(i);
        if (lane >= 0) ++sizes[lane];
    }
    sizes.forEach((size, i) => { if (size > 0) lanes[i] = emptyLane(kind, size); });
    for (let i = 0; i < count; ++i) {
        const number = laneOf(i);
        if (number < 0) continue;
        const lane = lanes[number], at = lane.filled++;
        lane.item[at] = i;
        put(lane, at, i);
    }
    sizes.forEach((size, i) => { if (size > 0) finishLane(lanes[i]); });
}

function fillBars(model, lanes, firstLane) {
    const {barStart, barEnd, barStream, barLane} = model;
    const laneOf = (i) => firstLane[barStream[i]] + barLane[i];
    fillLanes('bar', lanes, barStart.length, laneOf, (lane, at, i) => {
        lane.start[at] = barStart[i];
        lane.end[at] = barEnd[i];
        lane.look[at] = barLook(model, i);
    });
}

function fillCalls(model, lanes, firstLane) {
    const {opSite, opCall, opCallLength, opCallLane, siteThread, siteClass} = model;
    const laneOf = (i) => (opCallLane[i] < 0 ? -1
        : firstLane[siteThread[opSite[i]]] + opCallLane[i]);
    fillLanes('call', lanes, opSite.length, laneOf, (lane, at, i) => {
        lane.start[at] = opCall[i];
        lane.end[at] = opCall[i] + opCallLength[i];
        lane.look[at] = siteClass[opSite[i]];
    });
}

function fillRanges(model, lanes, firstLane) {
    const {rangeThread, rangeBegin, rangeLength, rangeLane, head} = model;
    const other = head.classes.length - 1;
    const laneOf = (i) => (rangeLane[i] < 0 ? -1 : firstLane[rangeThread[i]] + rangeLane[i]);
    fillLanes('range', lanes, rangeThread.length, laneOf, (lane, at, i) => {
        lane.start[at] = rangeBegin[i];
        lane.end[at] = rangeBegin[i] + rangeLength[i];
        lane.look[at] = other;
    });
}

/// Fills model.rows, whose `bars` are lanes, and the rows of streams and threads.
function addRows(model) {
    placeRows(model);
    const streams = new Int32Array(model.head.streams.length).fill(-1);
    const calls = new Int32Array(model.head.threads.length).fill(-1);
    const ranges = calls.slice();
    model.rowOfStream = streams.slice();
    model.rowOfThread = calls.slice();
    let count = 0;
    model.rows.forEach((row, i) => {
        (row.isThread ? model.rowOfThread : model.rowOfStream)[row.index] = i;
        if (!row.isThread) streams[row.index] = count;
        else ranges[row.index] = count, calls[row.index] = count + row.rangeLanes;
        row.firstLane = count;
        count += row.lanes;
    });
    const lanes = new Array(count).fill(null);
    fillBars(model, lanes, streams);
    fillCalls(model, lanes, calls);
    fillRanges(model, lanes, ranges);
    for (const row of model.rows)
        row.bars = lanes.slice(row.firstLane, row.firstLane + row.lanes)
            .map((lane) => lane ?? emptyLane('bar', 0));
    model.firstGap = groupStarts(model.gapStream, model.head.streams.length);
}

/// Returns {row, lane} of an operation's bar. Without a bar, returns {row, lane} of the operation's
/// call. Without a call, returns null.
function placeOfOp(model, op, bar = model.opBar[op]) {
    if (op < 0) return null;
    if (bar >= 0) return {row: model.rowOfStream[model.barStream[bar]], lane: model.barLane[bar]};
    if (model.opCallLane[op] < 0) return null;
    const row = model.rowOfThread[model.siteThread[model.opSite[op]]];
    return {row, lane: model.rows[row].rangeLanes + model.opCallLane[op]};
}

/// Returns [begin, end] of an operation's bar, or of the operation's call if there is no bar.
function timesOfOp(model, op, bar = model.opBar[op]) {
    if (bar >= 0) return [model.barStart[bar], model.barEnd[bar]];
    return [model.opCall[op], model.opCall[op] + Math.max(0, model.opCallLength[op])];
}

/// Returns copies of the lanes that contain only the items selected by `isWanted(kind, item)`.
function filteredRows(model, isWanted) {
    return model.rows.map((row) => row.bars.map((lane) => {
        const kept = [];
        for (let i = 0; i < lane.start.length; ++i)
            if (isWanted(lane.kind, lane.item[i])) kept.push(i);
        const part = emptyLane(lane.kind, kept.length);
        kept.forEach((from, to) => {
            for (const name of ['start', 'end', 'item', 'look']) part[name][to] = lane[name][from];
        });
        finishLane(part);
        return part;
    }));
}
