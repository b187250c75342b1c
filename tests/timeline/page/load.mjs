// Loads the page's scripts outside a page.
import {readFileSync} from 'node:fs';

const folder = new URL('../../../src/observe/timeline/page/web/', import.meta.url);
const files = ['columns', 'words', 'model', 'lanes', 'level', 'view', 'find', 'input'];

/// Returns the functions and constants with these names.
export function load(...names) {
    const sources = files.map((file) => readFileSync(new URL(`${file}.js`, folder), 'utf8'));
    return new Function(`${sources.join('\n')}\nreturn {${names.join(', ')}};`)();
}

const {makeModel} = load('makeModel');

const columnNames = `opSite opCall opCallLength opCallLane opParent opCollective opRecording
    siteKind siteMode siteReason siteClass siteName siteFile siteLine siteThread siteStream
    siteDevice siteBytes siteGraph siteList siteShare siteShares
    nodeGraph nodeClass nodeName nodeFile nodeLine nodeList
    listSize listItem accessHigh accessLow accessBytes accessRows accessMode
    accessArgument accessName
    barOp barStream barLane barNode barLead barLength barDeduced
    gapStream gapBar gapBegin gapEnd gapReason gapOp gapCause gapWait
    arrowWait arrowFrom arrowTo arrowStart arrowLength arrowFlags
    criticalKind criticalOp criticalBegin criticalLength
    rangeThread rangeName rangeBegin rangeLength rangeLane`.split(/\s+/);

/// The units that the head of each page declares.
export const timeUnits = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];

/// Returns a model with these columns. All other columns are empty.
export function modelOf(head, columns) {
    const all = Object.fromEntries(columnNames.map((name) => [name, new Int32Array(0)]));
    for (const [name, values] of Object.entries(columns)) all[name] = Float64Array.from(values);
    return makeModel({
        begin: 0, end: 1000, timeUnits,
        kinds: ['launch', 'dropped'], modes: ['run'], reasons: ['user'],
        classes: [{key: 'kernel', label: 'kernel'}, {key: 'copy', label: 'copy'}],
        gapLooks: [{key: 'waited', label: 'waited'}, {key: 'launched-late', label: 'late'}],
        devices: [{label: 'cuda:0', name: ''}], streams: [], threads: [], graphs: [], rows: [],
        totals: [], strings: [''], ...head,
    }, all);
}

/// Returns a model of a single stream. Its bars are [begin, end, class].
export function modelOfBars(bars, end = 1000) {
    let before = 0;
    const leads = bars.map(([start, stop]) => {
        const lead = start - before;
        before = stop;
        return lead;
    });
    const zeros = bars.map(() => 0);
    return modelOf({end, streams: [{label: 'main', device: 0}],
        rows: [{isThread: 0, index: 0, rangeLanes: 0, lanes: 1}], strings: ['', 'Hash']}, {
        opSite: bars.map(([, , look]) => look ?? 0), opCall: zeros,
        opCallLength: bars.map(() => -1), opCallLane: bars.map(() => -1), opParent: zeros,
        opCollective: zeros, opRecording: zeros,
        siteKind: [0, 0], siteClass: [0, 1], siteName: [1, 0], siteStream: [0, 0],
        siteThread: [-1, -1], siteGraph: [-1, -1], siteFile: [0, 0], siteMode: [0, 0],
        siteReason: [0, 0], siteDevice: [0, 0],
        barOp: bars.map((_, i) => i), barStream: zeros, barLane: zeros, barNode: zeros,
        barLead: leads, barLength: bars.map(([start, stop]) => stop - start), barDeduced: zeros,
    });
}
