import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load, modelOfBars} from './load.mjs';

const {planFrame, planLane} = load('planFrame', 'planLane');
const {makeView, zoom, pan, show, showAll, reveal} =
    load('makeView', 'zoom', 'pan', 'show', 'showAll', 'reveal');
const {xOf, timeOf, ticksOf, niceStep} = load('xOf', 'timeOf', 'ticksOf', 'niceStep');

const viewOf = (from, to, width) => ({begin: from, end: to, from, to, width});
function clustersOf(bars, view, step = 1) {
    const out = [];
    planLane(modelOfBars(bars, 1e9).rows[0].bars[0], view, step, out);
    return out;
}

test('a wide bar is drawn by itself', () => {
    const [cluster] = clustersOf([[100, 300]], viewOf(0, 1000, 100));
    assert.deepEqual([cluster.x0, cluster.x1], [10, 30]);
    assert.deepEqual([cluster.first, cluster.last, cluster.share], [0, 1, 1]);
});

test('what is outside of the view is not drawn', () => {
    const bars = [[0, 10], [20, 30], [40, 50]];
    assert.deepEqual(clustersOf(bars, viewOf(15, 35, 100)).map((cluster) => cluster.first), [1]);
});

test('a bar that is cut by the view ends at its edge', () => {
    const [cluster] = clustersOf([[0, 100]], viewOf(50, 75, 100));
    assert.deepEqual([cluster.x0, cluster.x1], [0, 100]);
});

test('bars narrower than a pixel become a cluster with their share', () => {
    const bars = Array.from({length: 10}, (_, i) => [i * 10, i * 10 + 4]);
    const [cluster] = clustersOf(bars, viewOf(0, 1000, 10));
    assert.deepEqual([cluster.first, cluster.last, cluster.x0, cluster.x1], [0, 10, 0, 1]);
    assert.ok(Math.abs(cluster.share - 0.4) < 1e-9);
});

test('clusters that look the same become one', () => {
    const bars = Array.from({length: 1000}, (_, i) => [i * 10, i * 10 + 5]);
    assert.equal(clustersOf(bars, viewOf(0, 10000, 100)).length, 1);
});

test('a cluster has the colour of what took most of its time', () => {
    const bars = [[0, 1, 0], [1, 8, 1], [8, 9, 0]];
    assert.equal(clustersOf(bars, viewOf(0, 1000, 10))[0].look, 1);
});

test('a wide bar behind narrow ones in a pixel is not lost', () => {
    const clusters = clustersOf([[0, 1], [2, 3], [5, 50]], viewOf(0, 100, 10));
    assert.deepEqual(clusters.map((cluster) => [cluster.first, cluster.last]), [[0, 2], [2, 3]]);
});

test('all bars are in exactly one cluster', () => {
    let time = 0, seed = 1;
    const bars = Array.from({length: 5000}, () => {
        seed = (seed * 48271) % 2147483647;
        const start = time + (seed % 50);
        time = start + (seed % 37 === 0 ? 3000 : seed % 20);
        return [start, time, seed % 2];
    });
    for (const step of [1, 2, 8]) {
        let next = 0;
        for (const cluster of clustersOf(bars, viewOf(0, time + 1, 700), step)) {
            assert.equal(cluster.first, next);
            next = cluster.last;
        }
        assert.equal(next, bars.length);
    }
});

test('there are never too many rectangles', () => {
    const bars = Array.from({length: 3000}, (_, i) => [i * 100, i * 100 + (i % 7) * 13, i % 2]);
    const model = modelOfBars(bars, 300000), view = viewOf(0, 300000, 3000);
    assert.equal(planFrame(model, view, () => true, 5000).step, 1);
    const plan = planFrame(model, view, () => true, 400);
    assert.ok(plan.rectangles <= 400 && plan.rectangles > 100, `${plan.rectangles}`);
});

test('zooming keeps the time at the cursor', () => {
    const view = makeView(0, 1e6);
    view.width = 1000;
    const time = timeOf(view, 300);
    zoom(view, 300, 4);
    assert.ok(Math.abs(timeOf(view, 300) - time) < 1e-6);
    assert.ok(Math.abs(view.to - view.from - 1.02e6 / 4) < 1e-6);
});

test('a view stays within the whole, and does not shrink to nothing', () => {
    const view = makeView(0, 1e6);
    view.width = 1000;
    zoom(view, 500, 1e-9);
    assert.deepEqual([view.from, view.to], [view.begin, view.end]);
    zoom(view, 500, 1e12);
    assert.ok(view.to - view.from >= 20);
    pan(view, 1e9);
    assert.ok(Math.abs(view.to - view.end) < 1e-6);
    show(view, -1e9, -1e9 + 100);
    assert.equal(view.from, view.begin);
    showAll(view);
    assert.equal(xOf(view, view.end), 1000);
});

test('what is revealed is wide enough to be seen', () => {
    const view = makeView(0, 1e9);
    view.width = 1000;
    reveal(view, 5e8, 5e8 + 1000);
    assert.ok(xOf(view, 5e8) > 0 && xOf(view, 5e8 + 1000) - xOf(view, 5e8) > 50);
    const before = {...view};
    reveal(view, 5e8, 5e8 + 1000);
    assert.deepEqual(view, before);
});

test('ticks are round and some hundred pixels apart', () => {
    assert.deepEqual([1, 3, 6, 11, 90].map(niceStep), [1, 5, 10, 20, 100]);
    const {step, times} = ticksOf(viewOf(-30, 970, 1000));
    assert.equal(step, 200);
    assert.deepEqual(times.map((time) => time + 0), [0, 200, 400, 600, 800]);
});
