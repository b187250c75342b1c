'use strict';

// Texts for numbers and names. The words are defined in C++ (solve/words.hpp). They are part of the
// page's data.

let timeUnits = [];  // pairs of a name and a number of ns, the largest unit first

function useWordsOf(head) { ({timeUnits} = head); }

/// Returns a duration with three digits, for example "12.3 µs". Same as duration_text() in C++.
function timeWords(ns) {
    if (ns < 0) return `-${timeWords(-ns)}`;
    const [name, size] = timeUnits.find((unit) => ns >= 0.9995 * unit[1]) ?? timeUnits.at(-1);
    const value = ns / size;
    return `${value.toFixed(size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${name}`;
}

/// Returns a moment as text, for example "12.345 ms". It has enough decimals to distinguish axis
/// ticks that are `step` ns apart.
function axisWords(moment, step) {
    if (moment === 0) return '0';
    const [name, size] = timeUnits.find((unit) => Math.abs(moment) >= unit[1]) ?? timeUnits.at(-1);
    let decimals = 0;
    for (let part = size; part > 1 && part > step * 1.0001; part /= 10) ++decimals;
    return `${(moment / size).toFixed(decimals)} ${name}`;
}

/// Returns the exact moment, to the nanosecond, in a suitable unit.
const momentWords = (moment) => axisWords(moment, 1);

function bytesWords(bytes) {
    for (const [name, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]])
        if (bytes >= size) return `${(bytes / size).toPrecision(3)} ${name}`;
    return `${bytes} B`;
}

const countWords = (count, one, many = `${one}s`) =>
    `${count.toLocaleString('en').replaceAll(',', ' ')} ${count === 1 ? one : many}`;
const shareWords = (part, whole) => (whole > 0 ? `${((part / whole) * 100).toFixed(1)} %` : '–');
const placeWords = (file, line) => (file ? `${file.replace(/^.*[/\\]/, '')}:${line}` : '');

/// Returns a transfer rate, for example "12.3 GB/s".
const rateWords = (bytes, ns) => (ns > 0 ? `${(bytes / ns).toPrecision(3)} GB/s` : '');

const kindWords = (model, op) => model.head.kinds[model.siteKind[model.opSite[op]]];
const plain = (word) => word.replaceAll('_', ' ');
const capital = (word) => word[0].toUpperCase() + word.slice(1);

/// Returns the stream's name and device, for example "main of cuda:0".
function streamWords({head}, stream) {
    const {label, device} = head.streams[stream];
    return `${label} of ${head.devices[device].label}`;
}

function opLabel(model, op) {
    const name = model.text[model.siteName[model.opSite[op]]];
    return name || plain(kindWords(model, op));
}

/// Returns the label of a bar: the name of the operation, or of the graph's node that ran.
function barLabel(model, bar) {
    const node = nodeOfBar(model, bar);
    return node < 0 ? opLabel(model, model.barOp[bar]) : model.text[model.nodeName[node]] || 'node';
}

/// Returns the source line as [short text, full text], or null if it is unknown.
function opPlace(model, op) {
    const site = model.opSite[op];
    const file = model.text[model.siteFile[site]], line = model.siteLine[site];
    return file ? [placeWords(file, line), `${file}:${line}`] : null;
}

/// Returns the label of an operation's row: the thread's row for an operation of the host alone,
/// otherwise the stream's row. If the stream is not on `device` and another stream has the same
/// name, the label includes the device.
function opRowLabel(model, op, device = -1) {
    const site = model.opSite[op], stream = model.siteStream[site];
    if (stream < 0) return model.head.threads[model.siteThread[site]] ?? 'host';
    const {label, device: own} = model.head.streams[stream];
    const isClear = own === device || !model.sharedLabels.has(label);
    return isClear ? label : streamWords(model, stream);
}

/// Returns a short text for a gap's reason, for example "waited for Hash on main".
function gapWords(model, gap) {
    const words = model.head.gapLooks[model.gapReason[gap]].label;
    const cause = model.gapCause[gap];
    if (cause < 0) return words;
    const isWait = model.head.gapLooks[model.gapReason[gap]].key === 'waited';
    const link = isWait ? ' for ' : ': ';
    const {device} = model.head.streams[model.gapStream[gap]];
    return `${words}${link}${opLabel(model, cause)} on ${opRowLabel(model, cause, device)}`;
}

/// Explains a gap's reason in a sentence. The keys are the keys of gap_looks() in C++.
function gapSentence(model, gap) {
    const op = model.gapOp[gap];
    const name = op < 0 ? 'the next operation' : opLabel(model, op);
    const took = op < 0 ? '' : ` It took ${timeWords(model.opCallLength[op])}.`;
    const sentences = {
        'nothing-enqueued': 'Nothing ran on this stream.',
        'after-last': 'All that was enqueued on this stream had run.',
        'launched-late': `The host came late with ${name}: nothing else was enqueued here.`,
        'queue-full': `The call that enqueued ${name} was blocked, as the queue was full.${took}`,
        'loading-code': `The call that enqueued ${name} loaded code.${took}`,
        waited: `Before ${name}, the stream waited for another one.`,
        'device-busy': 'Work of other streams filled the device.',
        'no-worker': 'All workers of the device were busy.',
        'launch-latency': `The launch itself: from the call, or the last wait, to ${name}.`,
    };
    return sentences[model.head.gapLooks[model.gapReason[gap]].key];
}

/// Explanations of waits, by the names of their reasons.
const waitReasons = {
    user: 'The program asked for this wait', scope_enter: 'The program entered a scope',
    scope_exit: 'The program left a scope', fork: 'A branch follows what was before its fork',
    join: 'What follows a join waits for its branches',
    copy: 'The host takes part in copies of pageable memory',
    collective: 'All streams of a collective take part',
    data: 'This wait orders conflicting accesses', batch: 'A batch is ordered around its streams',
    free_memory: 'Memory is freed after its users',
    graph: 'The graph owns memory that others use', peer: 'A copy between devices needs both',
    pipeline: 'A stage of a pipeline follows the one before',
};
