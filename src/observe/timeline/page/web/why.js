'use strict';

// Makes the panel that explains the selection: its facts, its waits, and the gap before it.

/// Makes the explanation of a gap: the reason, the length, and a sentence.
function gapElement(model, gap) {
    const look = model.head.gapLooks[model.gapReason[gap]];
    const wait = model.gapWait[gap], cause = model.gapCause[gap];
    return make('div', {class: 'reason', style: `--look: var(--${look.key})`},
        make('b', {}, swatch(look.key, true), `${look.label} ${timeWords(gapLength(model, gap))}`),
        make('p', {}, gapSentence(model, gap)),
        placeOfCall(model, gap),
        cause < 0 ? '' : make('p', {}, 'Held up by ', opLink(model, cause),
            ` on ${opRowLabel(model, cause)}.`),
        wait < 0 ? '' : make('p', {}, ...waitWords(model, wait)),
        meanwhile(model, gap));
}

const isMadeByHost = (key) => ['launched-late', 'queue-full', 'loading-code'].includes(key);

/// Returns the source line of the call that caused the gap.
function placeOfCall(model, gap) {
    const op = model.gapOp[gap], {key} = model.head.gapLooks[model.gapReason[gap]];
    const place = op < 0 || !isMadeByHost(key) ? null : placeElement(model, op);
    return place ? make('p', {}, 'It was enqueued at ', place, '.') : '';
}

/// Returns the reason for a wait, and its source line.
function waitWords(model, wait) {
    const reason = model.head.reasons[model.siteReason[model.opSite[wait]]];
    const why = waitReasons[reason] ?? `Wait for ${plain(reason)}`;
    const place = placeElement(model, wait);
    return place ? [`${why}, at `, place, '.'] : [`${why}.`];
}

/// Describes how the calling thread spent a gap that the host caused.
function meanwhile(model, gap) {
    const op = model.gapOp[gap], {key} = model.head.gapLooks[model.gapReason[gap]];
    const thread = op < 0 || key !== 'launched-late' ? -1 : model.siteThread[model.opSite[op]];
    if (thread < 0) return '';
    const [begin, end] = [model.gapBeginAt[gap], model.gapEndAt[gap]];
    const longest = longestCalls(model, thread, begin, end);
    const name = model.head.threads[thread];
    if (!longest.length) return make('p', {}, `Thread ${name} ran code of its own meanwhile.`);
    const items = longest.map(({op: call, time}) =>
        make('li', {}, opLink(model, call, -1), make('span', {}, timeWords(time))));
    return [make('p', {}, `Meanwhile on thread ${name}:`), make('ul', {}, ...items)];
}

/// Returns the longest calls in a stretch, at most three. Each takes more than a twentieth of it.
function longestCalls(model, thread, begin, end) {
    const row = model.rows[model.rowOfThread[thread]], calls = [];
    for (const lane of row.bars.slice(row.rangeLanes)) {
        const last = lowerBound(lane.start, end);
        for (let i = lowerBound(lane.end, begin); i < last; ++i) {
            const time = Math.min(end, lane.end[i]) - Math.max(begin, lane.start[i]);
            if (time > (end - begin) / 20) calls.push({op: lane.item[i], time});
        }
    }
    return calls.sort((a, b) => b.time - a.time).slice(0, 3);
}

function arrowItem(model, arrow, other) {
    const held = model.arrowHeld[arrow], wait = model.arrowWait[arrow];
    const isBold = model.arrowFlags[arrow] & 1;
    const reason = plain(model.head.reasons[model.siteReason[model.opSite[wait]]]);
    const place = placeElement(model, wait);
    return make('li', {class: isBold ? 'held' : ''},
        other < 0 ? 'work that was lost' : opLink(model, other),
        make('span', {}, other < 0 ? '' : `on ${opRowLabel(model, other)}`),
        make('small', {}, isBold ? `held it up ${timeWords(held)}` : 'was over already',
            reason === 'user' ? '' : ` · for ${reason}`, place ? ' · ' : '', place ?? ''));
}

/// Returns the arrows of an operation: one for each of its own waits, and for each wait for it.
function arrowsOfOp(model, op) {
    const before = [], after = [];
    for (let i = 0; i < model.arrowWait.length; ++i) {
        if (model.arrowTo[i] === op || model.arrowWait[i] === op) before.push(i);
        else if (model.arrowFrom[i] === op) after.push(i);
    }
    return {before, after};
}

function accessTable(model, list) {
    const rows = accessesOf(model, list).map((access) => make('tr', {},
        make('td', {}, access.name || (access.argument < 0 ? '' : `argument ${access.argument}`)),
        make('td', {}, access.mode),
        make('td', {class: 'number'}, bytesWords(access.bytes)),
        make('td', {}, make('code', {}, `0x${access.address.toString(16)}`))));
    const heads = ['Array', 'Use', 'Size', 'Address']
        .map((name) => make('th', {scope: 'col'}, name));
    return make('table', {class: 'plain', 'aria-label': 'Memory'},
        make('thead', {}, make('tr', {}, ...heads)),
        make('tbody', {}, ...rows));
}

function timeFacts(model, op, bar) {
    const call = model.opCall[op], took = model.opCallLength[op], site = model.opSite[op];
    const pairs = [['Called', took < 0 ? 'not known' : momentWords(call)],
        ['Call took', took < 0 ? null : timeWords(took)]];
    if (bar < 0) return pairs;
    const [start, end] = timesOfOp(model, op, bar), bytes = model.siteBytes[site];
    const deduced = model.barDeduced[bar] ? ' (deduced)' : '';
    const after = took < 0 ? '' : `, ${timeWords(Math.max(0, start - call))} after the call`;
    pairs.push(['Started', `${momentWords(start)}${deduced}${after}`],
        ['Ended', momentWords(end)], ['Ran for', timeWords(end - start)]);
    if (bytes > 0) pairs.push(['Bytes', `${bytesWords(bytes)}, ${rateWords(bytes, end - start)}`]);
    return pairs;
}

/// Returns the names of the direct predecessors of a node.
function nodesBefore(model, node) {
    const graph = model.nodeGraph[node], first = model.firstNode[graph];
    return model.head.graphs[graph].after[node - first]
        .map((before) => model.text[model.nodeName[first + before]] || `node ${before}`);
}

/// Names the body, and the conditional node, that contain a node. Returns '' if there is none.
function bodyWords(model, node) {
    const graph = model.nodeGraph[node], first = model.firstNode[graph];
    const [inside, alternative] = model.head.graphs[graph].inside?.[node - first] ?? [];
    if (inside === undefined) return '';
    const name = model.text[model.nodeName[first + inside]] || `node ${inside}`;
    return `body ${alternative} of ${name}`;
}

function opFacts(model, op, bar) {
    const site = model.opSite[op], {head} = model;
    const stream = head.streams[model.siteStream[site]];
    const node = bar < 0 ? -1 : nodeOfBar(model, bar);
    const device = head.devices[model.siteDevice[site]];
    const place = node < 0 ? placeElement(model, op)
        : placeWords(model.text[model.nodeFile[node]], model.nodeLine[node]);
    const shares = model.siteShares[site];
    return facts([
        ['Source', place],
        ['Stream', stream?.label],
        ['Priority', stream?.priority ? `${stream.priority}` : ''],
        ['Device', device && `${device.label}${device.name ? ` (${device.name})` : ''}`],
        ['Thread', head.threads[model.siteThread[site]]],
        ...timeFacts(model, op, bar),
        ['Graph', node < 0 ? '' : opLink(model, op)],
        ['In', node < 0 ? '' : bodyWords(model, node)],
        ['After', node < 0 ? '' : nodesBefore(model, node).join(', ')],
        ['Nodes', node >= 0 || model.siteGraph[site] < 0 ? ''
            : `${head.graphs[model.siteGraph[site]].after.length}`],
        ['Share', shares > 0 ? `${model.siteShare[site] + 1} of ${shares}` : ''],
        ['Enqueued by', model.opParent[op] < 0 ? '' : opLink(model, model.opParent[op])],
    ]);
}

function modeWords(model, op) {
    const mode = model.head.modes[model.siteMode[model.opSite[op]]];
    const number = model.opRecording[op];
    if (mode === 'captured')
        return `Recorded by capture ${number}: it runs when the graph is launched.`;
    if (mode === 'abandoned')
        return `Recorded by batch ${number}, which a failure ended before it was sent: ` +
            'it did not run.';
    return mode === 'batched' ? `Recorded by batch ${number}: it runs as a part of the batch.` : '';
}

/// If no gap precedes the bar because it began when the previous bar ended, returns a remark.
/// Otherwise returns ''.
function noGap(model, op, bar) {
    const before = bar - 1;
    const isBehind = before >= 0 && model.barLane[bar] === 0 &&
        model.barStream[before] === model.barStream[bar] &&
        model.barEnd[before] === model.barStart[bar];
    return isBehind ? make('p', {}, 'It began as soon as ', opLink(model, model.barOp[before]),
        ' before it had ended.') : '';
}

/// Makes the panel for an operation or a node of a graph.
function whyOp(model, {op, bar}) {
    const site = model.opSite[op], node = bar < 0 ? -1 : nodeOfBar(model, bar);
    const look = model.head.classes[bar < 0 ? model.siteClass[site] : barLook(model, bar)];
    const gaps = bar < 0 || model.barLane[bar] > 0 ? [] : gapsBefore(model, bar);
    const {before, after} = arrowsOfOp(model, op);
    const list = node < 0 ? model.siteList[site] : model.nodeList[node];
    const mode = modeWords(model, op);
    const share = (other) => make('li', {}, opLink(model, other),
        make('span', {}, opRowLabel(model, other)));
    const others = sharesOf(model, op).map((other) => () => share(other));
    const items = (arrows, otherOf) => shortList(arrows.map((arrow) => () =>
        arrowItem(model, arrow, otherOf[arrow])));
    return [
        make('h2', {}, bar < 0 ? opLabel(model, op) : barLabel(model, bar)),
        make('p', {class: 'kind'}, swatch(look.key), look.label),
        mode ? make('p', {}, mode) : '',
        gaps.length ? section('Idle before it', ...gaps.map((gap) => gapElement(model, gap)))
            : noGap(model, op, bar),
        before.length ? section('Waited for', items(before, model.arrowFrom)) : '',
        after.length ? section('Waited for by', items(after, model.arrowTo)) : '',
        section('Details', opFacts(model, op, bar)),
        others.length ? section('Other shares', shortList(others)) : '',
        list > 0 ? section('Memory', accessTable(model, list)) : '',
    ];
}

/// Returns the shares of the other ranks in the same collective.
function sharesOf(model, op) {
    const number = model.opCollective[op], others = [];
    if (number === 0) return others;
    for (let i = 0; i < model.opCollective.length; ++i)
        if (model.opCollective[i] === number && i !== op) others.push(i);
    return others;
}

function whyGap(model, gap) {
    const op = model.gapOp[gap];
    return [
        make('h2', {}, 'Idle'),
        make('p', {class: 'kind'}, streamWords(model, model.gapStream[gap])),
        section('Why', gapElement(model, gap)),
        section('Details', facts([
            ['From', momentWords(model.gapBeginAt[gap])], ['To', momentWords(model.gapEndAt[gap])],
            ['Then ran', op < 0 ? 'nothing' : opLink(model, op)],
        ])),
    ];
}

function whyRange(model, range) {
    const begin = model.rangeBegin[range], length = model.rangeLength[range];
    return [
        make('h2', {}, model.text[model.rangeName[range]] || 'range'),
        make('p', {class: 'kind'}, `range on ${model.head.threads[model.rangeThread[range]]}`),
        section('Details', facts([['Began', momentWords(begin)],
            ['Ended', momentWords(begin + length)], ['Took', timeWords(length)]])),
    ];
}
