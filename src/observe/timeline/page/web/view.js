'use strict';

// The visible stretch of time, and the axis. A view is {begin, end, from, to, width}. `begin` and
// `end` are the bounds of the recording, `from` and `to` the bounds of the visible stretch, and
// `width` is in pixels.

const leastSpan = 20;  // ns

function makeView(begin, end) {
    const margin = Math.max((end - begin) * 0.01, leastSpan / 2);
    const view = {begin: begin - margin, end: end + margin, from: 0, to: 1, width: 1};
    showAll(view);
    return view;
}

function showAll(view) {
    view.from = view.begin;
    view.to = view.end;
}

const xOf = (view, time) => ((time - view.from) / (view.to - view.from)) * view.width;
const timeOf = (view, x) => view.from + (x / view.width) * (view.to - view.from);

/// Shows a stretch. If it extends beyond the recording, it is moved and, if necessary, shortened.
function show(view, from, to) {
    const whole = view.end - view.begin;
    const span = Math.min(whole, Math.max(to - from, leastSpan));
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - span / 2, view.begin), view.end - span);
    view.from = start;
    view.to = start + span;
}

/// Zooms by a factor. The moment at `x` keeps its position. A factor above 1 shows less time.
function zoom(view, x, factor) {
    const whole = view.end - view.begin;
    const span = Math.min(whole, Math.max((view.to - view.from) / factor, leastSpan));
    const from = timeOf(view, x) - (x / view.width) * span;
    show(view, from, from + span);
}

function pan(view, pixels) {
    const shift = (pixels / view.width) * (view.to - view.from);
    show(view, view.from + shift, view.to + shift);
}

/// Moves the view to a stretch and its surroundings, unless the stretch is already visible and wide
/// enough.
function reveal(view, begin, end) {
    const span = view.to - view.from, length = end - begin;
    const isSeen = begin >= view.from && end <= view.to;
    const isWide = (length / span) * view.width >= 6;
    if (isSeen && isWide) return;
    const next = isWide && length < span ? span : Math.max(length * 12, leastSpan * 5);
    const middle = (begin + end) / 2;
    show(view, middle - next / 2, middle + next / 2);
}

/// Returns the smallest number that is at least `least` and is 1, 2 or 5 times a power of ten.
function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.9999);
}

/// Returns the ticks of the axis: {step, times}. They are some hundred pixels apart.
function ticksOf(view) {
    const step = niceStep(((view.to - view.from) * 110) / view.width);
    const times = [];
    for (let i = Math.ceil(view.from / step); i * step <= view.to; ++i) times.push(i * step);
    return {step, times};
}
