'use strict';

// Makes the tables at the bottom, and the panel that is shown while nothing is selected.

/// Returns {name, count, sum, mean, p50, p99, max} for each kernel. The largest sum is first.
function kernelTotals(model) {
    const kernel = model.head.classes.findIndex((look) => look.key === 'kernel');
    const durations = new Map();
    for (let bar = 0; bar < model.barOp.length; ++bar) {
        if (barLook(model, bar) !== kernel) continue;
        const node = nodeOfBar(model, bar);
        const name = node < 0 ? model.siteName[model.opSite[model.barOp[bar]]]
            : model.nodeName[node];
        if (!durations.has(name)) durations.set(name, []);
        durations.get(name).push(model.barEnd[bar] - model.barStart[bar]);
    }
    const totals = [...durations].map(([name, times]) => totalsOf(name, Float64Array.from(times)));
    return totals.sort((a, b) => b.sum - a.sum);
}

function totalsOf(name, times) {
    times.sort();
    const count = times.length, sum = times.reduce((a, b) => a + b, 0);
    const rank = (share) => times[Math.max(0, Math.ceil(share * count) - 1)];
    return {name, count, sum, mean: sum / count, p50: rank(0.5), p99: rank(0.99),
        max: times[count - 1]};
}

const textColumn = (name, value, show = value) => ({name, isText: true, value, show});
const numberColumn = (name, value, show = (item) => `${value(item)}`) => ({name, value, show});
const timeColumn = (name, value) => numberColumn(name, value, (item) => timeWords(value(item)));

/// Returns the items sorted by one column. Text columns are compared as text, others as numbers.
function sortedItems(items, {value, isText}, sign) {
    const compare = isText ? (a, b) => a.localeCompare(b) : (a, b) => a - b;
    return [...items].sort((a, b) => sign * compare(value(a), value(b)));
}

/// Makes a table that a click on a column's head sorts. A column is {name, isText, value(item),
/// show(item)}.
function sortedTable(label, columns, items, most = 300) {
    const body = make('tbody');
    const alignment = (column) => (column.isText || column.isLeft ? null : 'number');
    const fill = (sorted) => body.replaceChildren(...sorted.slice(0, most).map((item) =>
        make('tr', {}, ...columns.map((c) => make('td', {class: alignment(c)}, c.show(item))))));
    const sort = (column, head) => {
        const was = head.getAttribute('aria-sort');
        const isUp = was ? was === 'descending' : Boolean(column.isText);
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
        fill(sortedItems(items, column, isUp ? 1 : -1));
    };
    const heads = columns.map((column) => {
        const head = make('th', {scope: 'col', class: alignment(column)});
        head.append(make('button', {title: `Sort by ${column.name}`,
            click: () => sort(column, head)}, column.name));
        return head;
    });
    fill(items);
    return make('table', {'aria-label': label}, make('thead', {}, make('tr', {}, ...heads)), body);
}

function kernelTable(model) {
    model.kernels ??= kernelTotals(model);
    if (!model.kernels.length) return nothing('No kernel ran, or its times are not known.');
    const name = (kernel) => model.text[kernel.name] || 'kernel';
    const show = (kernel) => make('button', {class: 'link', title: 'Select its runs',
        click: () => page.find(findKernel(model, kernel.name), true)}, name(kernel));
    return sortedTable('Kernels', [
        textColumn('Kernel', name, show), numberColumn('Runs', (k) => k.count),
        timeColumn('Sum', (k) => k.sum), timeColumn('Mean', (k) => k.mean),
        timeColumn('p50', (k) => k.p50), timeColumn('p99', (k) => k.p99),
        timeColumn('Max', (k) => k.max),
    ], model.kernels);
}

/// Makes a strip with the parts of a row's time: busy, then idle by reason.
function shareStrip(model, totals) {
    const whole = Math.max(1, model.head.end - model.head.begin);
    const part = (time, {label, key}) => (time <= 0 ? '' : make('i', {
        title: `${label}: ${timeWords(time)}, ${shareWords(time, whole)}`,
        style: `flex-grow: ${time}; --look: var(--${key})`}));
    return make('div', {class: 'strip'}, part(totals.busy, {label: 'busy', key: 'kernel'}),
        ...totals.idle.map((time, i) => part(time, model.head.gapLooks[i])));
}

function idleTable(model) {
    const {head} = model, whole = head.end - head.begin;
    const isKnown = ({stream, busy}) =>
        busy > 0 || head.devices[head.streams[stream].device].clockIsKnown;
    const rows = head.totals.filter((totals) => totals.operations > 0 && isKnown(totals));
    if (!rows.length) return nothing('No operation ran on a stream, or no times are known.');
    const used = head.gapLooks.map((look, i) => i)
        .filter((i) => rows.some((totals) => totals.idle[i] > 0));
    const idle = (i) => numberColumn(capital(head.gapLooks[i].label), (t) => t.idle[i], (t) =>
        (t.idle[i] > 0 ? make('span', {title: shareWords(t.idle[i], whole)}, timeWords(t.idle[i]))
            : '–'));
    return sortedTable('Busy and idle by stream', [
        textColumn('Stream', (t) => streamWords(model, t.stream)),
        {name: 'Where the time went', isLeft: true, value: (t) => t.busy,
            show: (t) => shareStrip(model, t)},
        numberColumn('Ran', (t) => t.operations),
        numberColumn('Busy', (t) => t.busy,
            (t) => `${timeWords(t.busy)}, ${shareWords(t.busy, whole)}`),
        ...used.map(idle),
    ], rows);
}

const labelOrNothing = (model, op) => (op < 0 ? '' : opLabel(model, op));
const linkOrNothing = (model, op) => (op < 0 ? '' : opLink(model, op));
const rowOrNothing = (model, op) => (op < 0 ? '' : opRowLabel(model, op));

function waitTable(model) {
    const {arrowHeld, arrowTo, arrowFrom, arrowWait} = model;
    const waits = [...model.arrowsByHeld.subarray(0, 200)].filter((i) => arrowTo[i] >= 0);
    if (!waits.length) return nothing('No wait held anything up.');
    return sortedTable('Longest waits', [
        timeColumn('Waited', (i) => arrowHeld[i]),
        textColumn('What', (i) => opLabel(model, arrowTo[i]), (i) => opLink(model, arrowTo[i])),
        textColumn('On', (i) => (arrowTo[i] === arrowWait[i] ? 'host'
            : opRowLabel(model, arrowTo[i]))),
        textColumn('Waited for', (i) => labelOrNothing(model, arrowFrom[i]),
            (i) => linkOrNothing(model, arrowFrom[i])),
        textColumn('Of', (i) => rowOrNothing(model, arrowFrom[i])),
        textColumn('Reason', (i) => plain(
            model.head.reasons[model.siteReason[model.opSite[arrowWait[i]]]])),
        textColumn('Place', (i) => opPlace(model, arrowWait[i])?.[0] ?? '',
            (i) => placeElement(model, arrowWait[i]) ?? ''),
    ], waits);
}

function criticalTable(model) {
    const {criticalOp, criticalKind, criticalBegin, criticalLength, head} = model;
    if (!criticalOp.length) return nothing('No critical path is known.');
    const kinds = ['ran', 'waited to start', 'host, until its call'];
    return sortedTable('Critical path', [
        numberColumn('At', (i) => criticalBegin[i], (i) => momentWords(criticalBegin[i])),
        timeColumn('For', (i) => criticalLength[i]),
        numberColumn('Share', (i) => criticalLength[i],
            (i) => shareWords(criticalLength[i], head.end - head.begin)),
        textColumn('Operation', (i) => labelOrNothing(model, criticalOp[i]),
            (i) => linkOrNothing(model, criticalOp[i])),
        textColumn('What', (i) => kinds[criticalKind[i]]),
        textColumn('On', (i) => rowOrNothing(model, criticalOp[i])),
    ], [...criticalOp.keys()]);
}

/// Returns the longest gaps that the program could avoid. Gaps at the ends of rows are not among
/// them.
function longestGaps(model, most) {
    const lengths = Float64Array.from(model.gapReason, (reason, gap) =>
        (model.gapOp[gap] < 0 ? 0 : gapLength(model, gap)));
    return [...largest(lengths, most)];
}

function whyNothing(model) {
    model.longest ??= longestGaps(model, 6);
    const items = model.longest.map((gap) => make('li', {},
        link(gapWords(model, gap), {gap}),
        make('span', {}, timeWords(gapLength(model, gap))),
        make('small', {}, `${streamWords(model, model.gapStream[gap])}, before `,
            `${opLabel(model, model.gapOp[gap])} `, placeElement(model, model.gapOp[gap]))));
    return [
        make('h2', {}, 'Where the time went'),
        make('p', {}, model.head.headline),
        section('Longest idle stretches', items.length ? make('ul', {class: 'links'}, ...items)
            : nothing('No stream was idle between two operations.')),
        section('Select', make('p', {}, 'Click a bar or a hatched gap to see why it is there. ' +
            'The wheel zooms, dragging pans, and ? lists the keys.')),
        model.rows.length ? section('Legend', legend(model)) : '',
    ];
}

/// Makes the legend of the bars and gaps in this recording.
function legend(model) {
    const looks = new Set(), reasons = new Set(model.gapReason);
    for (const row of model.rows) for (const lane of row.bars)
        if (lane.kind !== 'range') for (const look of lane.look) looks.add(look);
    const item = (look, isGap) => make('li', {}, swatch(look.key, isGap), look.label);
    return make('ul', {class: 'legend'},
        ...model.head.classes.filter((_, i) => looks.has(i)).map((look) => item(look, false)),
        ...model.head.gapLooks.filter((_, i) => reasons.has(i)).map((look) => item(look, true)));
}
