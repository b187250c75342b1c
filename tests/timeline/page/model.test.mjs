import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load, modelOf, modelOfBars} from './load.mjs';

const {absoluteIndex, lowerBound, largest, sortedIndices, gapsBefore, filteredRows, placeOfOp,
    findText, neighbour, nearest, makeView} = load('absoluteIndex', 'lowerBound', 'largest',
    'sortedIndices', 'gapsBefore', 'filteredRows', 'placeOfOp', 'findText', 'neighbour', 'nearest',
    'makeView');

test('relative indices are made absolute', () => {
    assert.deepEqual([0, 3, -1, -3].map((number) => absoluteIndex(10, number)), [-1, 7, 10, 12]);
});

test('a lower bound is the first index that is not less', () => {
    assert.deepEqual([0, 1, 2, 5, 9].map((least) => lowerBound([1, 3, 5], least)), [0, 0, 1, 2, 3]);
});

test('the largest values come in order, and zeros do not come', () => {
    assert.deepEqual([...largest([5, 0, 9, 7, 5], 3)], [2, 3, 0]);
    assert.deepEqual([...largest([0, 0], 3)], []);
});

test('indices are sorted by value', () => {
    assert.deepEqual([...sortedIndices([3, 1, 2])], [1, 2, 0]);
});

test('bars start behind the ones before them', () => {
    const model = modelOfBars([[10, 20], [25, 40], [40, 50]]);
    assert.deepEqual([...model.barStart], [10, 25, 40]);
    assert.deepEqual([...model.barEnd], [20, 40, 50]);
    assert.deepEqual([...model.rows[0].bars[0].sum], [0, 10, 25, 35]);
});

const head = {streams: [{label: 'main', device: 0}],
    rows: [{isThread: 0, index: 0, rangeLanes: 0, lanes: 1}]};
const twoBars = {opSite: [0, 0], siteClass: [0], siteStream: [0], siteThread: [-1], siteGraph: [-1],
    siteName: [0], siteFile: [0], siteKind: [0], opCallLane: [-1, -1], opCallLength: [-1, -1],
    opCall: [0, 0], barOp: [0, 1], barStream: [0, 0], barLane: [0, 0], barNode: [0, 0],
    barLead: [10, 30], barLength: [10, 10], barDeduced: [0, 0]};

test('gaps lie between bars', () => {
    const model = modelOf({...head, end: 60}, {...twoBars, gapStream: [0, 0, 0, 0],
        gapBar: [0, 1, 1, 2], gapBegin: [0, 0, 0, 0], gapEnd: [0, -22, 0, 0],
        gapReason: [1, 0, 1, 1], gapOp: [0, 0, 0, 0], gapCause: [0, 1, 0, 0],
        gapWait: [0, 0, 0, 0]});
    assert.deepEqual([...model.gapBeginAt], [0, 20, 28, 60]);
    assert.deepEqual([...model.gapEndAt], [10, 28, 50, 60]);
    assert.deepEqual([...model.gapOp], [0, 1, 1, -1]);
    assert.deepEqual([...model.gapCause], [-1, 0, -1, -1]);
    assert.deepEqual(gapsBefore(model, 1), [1, 2]);
    assert.deepEqual(gapsBefore(model, 0), [0]);
});

test('an arrow knows how long it held its stream up', () => {
    const model = modelOf(head, {...twoBars, gapStream: [0], gapBar: [1], gapBegin: [0],
        gapEnd: [0], gapReason: [0], gapOp: [0], gapCause: [1], gapWait: [1],
        arrowWait: [0, 0], arrowFrom: [-1, -1], arrowTo: [-2, -2], arrowStart: [50, 50],
        arrowLength: [5, 5], arrowFlags: [1, 0]});
    assert.deepEqual([...model.arrowFrom], [0, 0]);
    assert.deepEqual([...model.arrowTo], [1, 1]);
    assert.deepEqual([...model.arrowFromEnd], [45, 45]);
    assert.deepEqual([...model.arrowHeld], [30, 0]);
});

test('calls and ranges have lanes of their own', () => {
    const model = modelOf({threads: ['main'], rows: [{isThread: 1, index: 0, rangeLanes: 1,
        lanes: 2}]}, {opSite: [0, 0], siteThread: [0], siteStream: [-1], siteClass: [1],
        siteGraph: [-1], siteKind: [0], siteName: [0], siteFile: [0], opCall: [30, 10],
        opCallLength: [5, 5], opCallLane: [0, 0], rangeThread: [0], rangeName: [0],
        rangeBegin: [0], rangeLength: [50], rangeLane: [0]});
    const [ranges, calls] = model.rows[0].bars;
    assert.equal(ranges.kind, 'range');
    assert.deepEqual([...calls.start], [10, 30]);
    assert.deepEqual([...calls.item], [1, 0]);
    assert.deepEqual(placeOfOp(model, 0), {row: 0, lane: 1});
});

test('operations are found by name and by stream, in the order of their calls', () => {
    const model = modelOfBars([[10, 20, 1], [25, 40, 0], [40, 50, 1]]);
    assert.deepEqual(findText(model, 'HASH').items, [1]);
    assert.equal(findText(model, 'main').items.length, 3);
    assert.deepEqual(findText(model, 'nothing').items, []);
});

test('a filtered lane keeps what is wanted', () => {
    const model = modelOfBars([[10, 20], [25, 40], [40, 50]]);
    const [[lane]] = filteredRows(model, (kind, item) => kind === 'bar' && item !== 1);
    assert.deepEqual([...lane.start], [10, 40]);
    assert.deepEqual([...lane.item], [0, 2]);
});

test('the nearest bar is hit within a slack', () => {
    const lane = modelOfBars([[10, 20], [25, 40]]).rows[0].bars[0];
    assert.deepEqual([[15, 0], [22, 1], [22, 3], [24, 3], [45, 4]].map(([t, s]) =>
        nearest(lane, t, s)), [0, -1, 0, 1, -1]);
});

test('arrow keys walk along a row', () => {
    const model = modelOfBars([[10, 20], [25, 40]]), view = makeView(0, 1000);
    const first = neighbour(model, view, null, 1, 0);
    assert.deepEqual(first, {op: 0, bar: 0});
    const second = neighbour(model, view, first, 1, 0);
    assert.deepEqual(second, {op: 1, bar: 1});
    assert.equal(neighbour(model, view, second, 1, 0), null);
    assert.deepEqual(neighbour(model, view, second, -1, 0), first);
});
