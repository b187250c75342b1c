'use strict';

// The page's data: columns of operations, bars, gaps and arrows. Their indices are decoded here.

/// Inverts relative_index() of the C++ code. Returns -1 if there is no index.
const absoluteIndex = (base, number) =>
    number === 0 ? -1 : number > 0 ? base - number : base - number - 1;

function mapIndices(numbers, baseOf) {
    const indices = new Int32Array(numbers.length);
    for (let i = 0; i < indices.length; ++i) indices[i] = absoluteIndex(baseOf(i), numbers[i]);
    return indices;
}

/// Computes the starts and ends of bars from the distances between adjacent bars.
function addBarTimes(model) {
    const {barStream, barLead, barLength} = model, count = barStream.length;
    model.barStart = new Float64Array(count);
    model.barEnd = new Float64Array(count);
    for (let i = 0; i < count; ++i) {
        const isFirst = i === 0 || barStream[i] !== barStream[i - 1];
        model.barStart[i] = (isFirst ? model.head.begin : model.barEnd[i - 1]) + barLead[i];
        model.barEnd[i] = model.barStart[i] + barLength[i];
    }
}

/// Returns the first index in [low, high) whose value is at least `least`, or `high`.
function lowerBound(values, least, low = 0, high = values.length) {
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (values[middle] < least) low = middle + 1;
        else high = middle;
    }
    return low;
}

/// Computes the times and operations of gaps from their differences to the adjacent bars.
function addGapTimes(model) {
    const {barStart, barEnd, barStream, barOp, gapStream, gapBar, head} = model;
    const count = gapStream.length;
    model.gapBeginAt = new Float64Array(count);
    model.gapEndAt = new Float64Array(count);
    const ops = new Int32Array(count);
    let first = 0, last = 0, next = 0, begin = 0;
    for (let i = 0; i < count; ++i) {
        if (i === 0 || gapStream[i] !== gapStream[i - 1]) {
            first = next = lowerBound(barStream, gapStream[i]);
            last = lowerBound(barStream, gapStream[i] + 1);
            begin = head.begin;
        }
        for (; next < first + gapBar[i]; ++next) begin = Math.max(begin, barEnd[next]);
        const hasBar = next < last;
        model.gapBeginAt[i] = begin + model.gapBegin[i];
        begin = model.gapEndAt[i] = (hasBar ? barStart[next] : head.end) + model.gapEnd[i];
        ops[i] = (hasBar ? barOp[next] : -1) + model.gapOp[i];
    }
    model.gapOp = ops;
}

/// Returns the node's index in the columns of nodes, or -1 for the bar of a whole operation.
function nodeOfBar(model, bar) {
    if (model.barNode[bar] === 0) return -1;
    const graph = model.siteGraph[model.opSite[model.barOp[bar]]];
    return graph < 0 ? -1 : model.firstNode[graph] + model.barNode[bar] - 1;
}

function barLook(model, bar) {
    const node = nodeOfBar(model, bar);
    return node < 0 ? model.siteClass[model.opSite[model.barOp[bar]]] : model.nodeClass[node];
}

/// Finds the bar of each operation. For a graph launch, this is the graph's bar, or else the bar of
/// the first node. An operation without a bar has -1.
function addBarsOfOps(model) {
    model.opBar = new Int32Array(model.opSite.length).fill(-1);
    for (let bar = model.barOp.length - 1; bar >= 0; --bar) {
        const old = model.opBar[model.barOp[bar]];
        if (old < 0 || model.barNode[bar] === 0 || model.barNode[old] !== 0)
            model.opBar[model.barOp[bar]] = bar;
    }
}

/// Computes for each arrow how long its wait held up the stream or the host; 0 if it did not.
function addHeldTimes(model) {
    const held = new Map();
    for (let gap = 0; gap < model.gapWait.length; ++gap) {
        const wait = model.gapWait[gap];
        if (wait < 0) continue;
        const length = model.gapEndAt[gap] - model.gapBeginAt[gap];
        held.set(wait, (held.get(wait) ?? 0) + length);
    }
    model.arrowHeld = new Float64Array(model.arrowWait.length);
    for (let i = 0; i < model.arrowHeld.length; ++i) {
        if ((model.arrowFlags[i] & 1) === 0) continue;
        const wait = model.arrowWait[i];
        const call = model.arrowTo[i] === wait ? Math.max(0, model.opCallLength[wait]) : 0;
        model.arrowHeld[i] = held.get(wait) ?? call;
    }
}

function addArrows(model) {
    const {arrowWait, arrowFrom, arrowTo, arrowStart, arrowLength} = model;
    model.arrowFrom = mapIndices(arrowFrom, (i) => arrowWait[i]);
    model.arrowTo = mapIndices(arrowTo, (i) => arrowWait[i]);
    model.arrowFromEnd = new Float64Array(arrowStart.length);
    for (let i = 0; i < arrowStart.length; ++i)
        model.arrowFromEnd[i] = arrowStart[i] - arrowLength[i];
    addHeldTimes(model);
    model.arrowsByTime = sortedIndices(arrowStart);
    model.arrowTimes = Float64Array.from(model.arrowsByTime, (i) => arrowStart[i]);
    model.arrowsByHeld = largest(model.arrowHeld, 4000);
}

/// Returns the indices by ascending value.
function sortedIndices(values) {
    const order = Int32Array.from(values, (_, i) => i);
    let isSorted = true;
    for (let i = 1; i < values.length && isSorted; ++i) isSorted = values[i - 1] <= values[i];
    return isSorted ? order : order.sort((a, b) => values[a] - values[b]);
}

/// Returns the indices of the `most` largest values above 0, the largest first.
function largest(values, most) {
    const sorted = Float64Array.from(values).sort();
    const least = sorted[Math.max(0, sorted.length - most)];
    const indices = indicesWhere(values, (value) => value > 0 && value >= least);
    return Int32Array.from(indices.sort((a, b) => values[b] - values[a]).slice(0, most));
}

function indicesWhere(values, isWanted) {
    const indices = [];
    for (let i = 0; i < values.length; ++i) if (isWanted(values[i])) indices.push(i);
    return indices;
}

/// Returns where each group begins in a sorted column: [of group 0, of group 1, ..., the end].
function groupStarts(groups, count) {
    const starts = new Int32Array(count + 1);
    for (let i = 0; i <= count; ++i) starts[i] = lowerBound(groups, i);
    return starts;
}

/// Returns the model: the head, its columns by name, and all values derived from them.
function makeModel(head, columns) {
    useWordsOf(head);
    const model = {head, text: head.strings, ...columns};
    const labels = head.streams.map((stream) => stream.label);
    model.sharedLabels = new Set(labels.filter((label, i) => labels.indexOf(label) !== i));
    model.firstNode = groupStarts(model.nodeGraph, head.graphs.length);
    model.firstItem = new Int32Array(model.listSize.length + 1);
    model.listSize.forEach((size, i) => { model.firstItem[i + 1] = model.firstItem[i] + size; });
    addBarTimes(model);
    addGapTimes(model);
    const gapBase = (i) => Math.max(0, model.gapOp[i]);
    model.gapCause = mapIndices(model.gapCause, gapBase);
    model.gapWait = mapIndices(model.gapWait, gapBase);
    model.opParent = mapIndices(model.opParent, (i) => i);
    addBarsOfOps(model);
    addArrows(model);
    addRows(model);
    model.isCritical = new Uint8Array(model.opSite.length);
    for (const op of model.criticalOp) if (op >= 0) model.isCritical[op] = 1;
    const dropped = head.kinds.indexOf('dropped');
    model.dropped = indicesWhere(model.opSite, (site) =>
        model.siteKind[site] === dropped && model.siteStream[site] >= 0);
    return model;
}

/// Returns the accesses of a list, as objects.
function accessesOf(model, list) {
    const access = (item) => {
        const i = model.listItem[item];
        return {
            address: (BigInt(model.accessHigh[i]) << 32n) + BigInt(model.accessLow[i]),
            bytes: model.accessBytes[i] * model.accessRows[i],
            mode: model.head.accessModes[model.accessMode[i]],
            argument: model.accessArgument[i],
            name: model.text[model.accessName[i]],
        };
    };
    const indices = [];
    for (let item = model.firstItem[list]; item < model.firstItem[list + 1]; ++item)
        indices.push(item);
    return indices.map(access);
}

/// Returns the indices of the gaps directly before a bar, the first one first.
function gapsBefore(model, bar) {
    const stream = model.barStream[bar];
    const first = model.firstGap[stream], last = model.firstGap[stream + 1];
    const end = lowerBound(model.gapEndAt, model.barStart[bar] + 0.5, first, last);
    const gaps = [];
    let time = model.barStart[bar];
    for (let gap = end - 1; gap >= first && model.gapEndAt[gap] === time; --gap) {
        gaps.unshift(gap);
        time = model.gapBeginAt[gap];
    }
    return gaps;
}
