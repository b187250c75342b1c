'use strict';

// Level of detail: selects the shapes to draw for a view. Bars narrower than `step` pixels are
// merged into clusters. `share` is the fraction of a cluster's time in which an operation ran.

const mostRectangles = 4000, mostArrows = 300, fewArrows = 60, leastGap = 3;

/// For tests: the number of bars, gaps, arrows and clusters examined for drawing since the page was
/// opened. A frame examines a few of them for each pixel, however long the recording is.
const looked = {at: 0};

/// Returns the class that takes up most of the time of bars [first, last). Estimates it from a
/// sample.
function lookOfMany(lane, first, last) {
    const stride = Math.max(1, Math.floor((last - first) / 8));
    let best = lane.look[first], most = -1;
    const times = new Map();
    for (let i = first; i < last; i += stride) {
        ++looked.at;
        const time = (times.get(lane.look[i]) ?? 0) + lane.end[i] - lane.start[i];
        times.set(lane.look[i], time);
        if (time > most) [most, best] = [time, lane.look[i]];
    }
    return best;
}

/// Appends a cluster, or extends the previous one if it looks the same.
function addCluster(out, first, cluster) {
    const before = out.length > first ? out[out.length - 1] : null;
    const isSame = before && before.last > before.first + 1 && before.x1 === cluster.x0 &&
        before.look === cluster.look && Math.abs(before.share - cluster.share) < 0.04;
    if (!isSame) return void out.push(cluster);
    before.x1 = cluster.x1;
    before.last = cluster.last;
}

/// Appends a cluster {x0, x1, first, last, look, share} for each drawn part of a lane. The cluster
/// stands for bars [first, last) in pixels [x0, x1).
function planLane(lane, view, step, out) {
    const {start, end} = lane, count = start.length, begin = out.length;
    const scale = view.width / (view.to - view.from);
    let i = lowerBound(end, view.from);
    while (i < count && start[i] < view.to) {
        ++looked.at;
        const x0 = Math.max(0, (start[i] - view.from) * scale);
        const x1 = Math.min(view.width, (end[i] - view.from) * scale);
        if (x1 - x0 >= step) {
            out.push({x0, x1, first: i, last: i + 1, look: lane.look[i], share: 1});
            ++i;
            continue;
        }
        const cell = Math.floor(x0 / step) * step;
        const limit = view.from + (cell + step) / scale;
        let last = Math.max(i + 1, lowerBound(start, limit, i, count));
        if (last > i + 1 && (end[last - 1] - start[last - 1]) * scale >= step) --last;
        const share = Math.min(1, ((lane.sum[last] - lane.sum[i]) * scale) / step);
        const look = last === i + 1 ? lane.look[i] : lookOfMany(lane, i, last);
        addCluster(out, begin, {x0: cell, x1: cell + step, first: i, last, look, share});
        i = last;
    }
}

/// Appends {x0, x1, gap} for the gaps of a row that are wide enough to be hatched.
function planGaps(model, row, view, step, out) {
    const {gapBeginAt, gapEndAt} = model, last = model.firstGap[row.index + 1];
    const scale = view.width / (view.to - view.from), least = Math.max(leastGap, step);
    let i = lowerBound(gapEndAt, view.from, model.firstGap[row.index], last);
    while (i < last && gapBeginAt[i] < view.to) {
        ++looked.at;
        const x0 = Math.max(0, (gapBeginAt[i] - view.from) * scale);
        const x1 = Math.min(view.width, (gapEndAt[i] - view.from) * scale);
        if (x1 - x0 >= least) out.push({x0, x1, gap: i++});
        else i = Math.max(i + 1, lowerBound(gapEndAt, gapEndAt[i] + 1 / scale, i, last));
    }
}

/// Returns {step, rectangles, rows: [{row, lanes, gaps}]} for the rows that `isSeen` selects.
/// Increases `step` until there are few enough rectangles.
function planFrame(model, view, isSeen, most = mostRectangles) {
    const seen = model.rows.map((row, i) => i).filter((i) => isSeen(model.rows[i]));
    for (let step = 1; ; step *= 2) {
        let rectangles = 0;
        const rows = seen.map((index) => {
            const row = model.rows[index], gaps = [];
            if (!row.isThread) planGaps(model, row, view, step, gaps);
            const lanes = row.bars.map((lane) => {
                const clusters = [];
                planLane(lane, view, step, clusters);
                rectangles += clusters.length;
                return clusters;
            });
            rectangles += gaps.length;
            return {index, row, lanes, gaps};
        });
        if (rectangles <= most || step > view.width) return {step, rectangles, rows};
    }
}

/// Returns the indices of arrows near the view. If there are many, returns only those whose waits
/// took longest.
function arrowsNear(model, view) {
    const {arrowTimes, arrowsByTime} = model, margin = view.to - view.from;
    const first = lowerBound(arrowTimes, view.from);
    const last = lowerBound(arrowTimes, view.to + margin, first);
    if (last - first <= 4000) return arrowsByTime.subarray(first, last);
    return model.arrowsByHeld;
}

/// Returns the arrows to draw: {arrow, from, to, isBold, isChosen}, where `from` and `to` are {row,
/// lane}. Thin arrows are drawn only if there are at most 24. If more than `fewArrows` arrows are
/// near the view, a bold arrow is drawn only if its gap is wide enough to be visible. If arrows
/// coincide, only the first is drawn. If `isCritical` is set, only arrows between operations on the
/// critical path are drawn.
function planArrows(model, view, chosen = [], isCritical = false) {
    const taken = new Set(), bold = [], thin = [];
    const add = (arrow, out, isChosen) => {
        const from = placeOfOp(model, model.arrowFrom[arrow]);
        const to = placeOfOp(model, model.arrowTo[arrow]);
        if (!from || !to || (from.row === to.row && !isChosen)) return;
        const cell = Math.round(xOf(view, model.arrowStart[arrow]) / 5);
        const key = `${from.row} ${to.row} ${isChosen ? `of ${arrow}` : cell}`;
        if (taken.has(key)) return;
        taken.add(key);
        const isBold = (model.arrowFlags[arrow] & 1) === 1;
        out.push({arrow, from, to, isBold, isChosen});
    };
    const near = arrowsNear(model, view), scale = view.width / (view.to - view.from);
    const least = near.length <= fewArrows ? 0 : leastGap / scale;
    const isWanted = (arrow) => !isCritical ||
        (model.isCritical[model.arrowFrom[arrow]] && model.isCritical[model.arrowTo[arrow]]);
    const isSeen = (arrow) => isWanted(arrow) &&
        (model.arrowHeld[arrow] >= least || (model.arrowFlags[arrow] & 1) === 0) &&
        model.arrowStart[arrow] >= view.from &&
        model.arrowFromEnd[arrow] <= view.to && model.arrowFromEnd[arrow] >= view.from &&
        model.arrowStart[arrow] <= view.to;
    for (const arrow of near) {
        if (bold.length >= mostArrows) break;
        ++looked.at;
        if (isSeen(arrow)) add(arrow, model.arrowFlags[arrow] & 1 ? bold : thin, false);
    }
    const shown = thin.length <= 24 ? [...thin, ...bold] : bold;
    const rest = chosen.map((arrow) => { const out = []; add(arrow, out, true); return out; });
    return [...shown, ...rest.flat()];
}
