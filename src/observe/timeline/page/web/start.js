'use strict';

// Builds the page from its data, once.

function tipWords(model, {gap, range, op, bar, isCall}) {
    if (gap !== undefined)
        return `${gapWords(model, gap)}\nidle for ${timeWords(gapLength(model, gap))}`;
    if (range !== undefined)
        return `${model.text[model.rangeName[range]]}\n${timeWords(model.rangeLength[range])}`;
    if (isCall)
        return `${plain(kindWords(model, op))}: ${opLabel(model, op)}\ncall took ` +
            timeWords(model.opCallLength[op]);
    const deduced = bar >= 0 && model.barDeduced[bar] ? '\nonly its end was measured' : '';
    const [begin, end] = timesOfOp(model, op, bar);
    return `${barLabel(model, bar)}\n${timeWords(end - begin)}${deduced}`;
}

function whyOf(model, selection) {
    if (!selection) return whyNothing(model);
    if (selection.gap !== undefined) return whyGap(model, selection.gap);
    if (selection.range !== undefined) return whyRange(model, selection.range);
    return whyOp(model, selection);
}

/// Returns the texts of the header: one text for each fact.
function headerFacts(model) {
    const {head} = model, streams = head.rows.filter((row) => !row.isThread).length;
    const held = model.arrowFlags.reduce((sum, flags) => sum + (flags & 1), 0);
    const clock = ({label, clock: source, clockIsKnown, error}) => `clock of ${label}: ` +
        (clockIsKnown && error > 0 ? `±${timeWords(error)} (${source})` : source);
    const onDevices = countWords(head.devices.length, 'device');
    return [
        timeWords(head.end - head.begin),
        `${countWords(streams, 'stream')} on ${onDevices}`,
        countWords(model.opSite.length, 'operation'),
        model.arrowWait.length ? `${countWords(held, 'wait')} held work up` : '',
        ...head.devices.map(clock),
        head.emptyStreams ? `${countWords(head.emptyStreams, 'stream')} without work` : '',
        head.backwards ? `${countWords(head.backwards, 'arrow')} within the clocks' errors` : '',
        head.lost ? `${countWords(head.lost, 'operation')} lost` : '',
    ].filter(Boolean);
}

function fillHeader(model) {
    const {head} = model, facts = find('facts');
    find('program').textContent = head.program || 'heddle timeline';
    const started = new Date((head.startedAt + head.begin) / 1e6);
    if (head.startedAt) find('program').title = `Recorded at ${started.toISOString()}`;
    const lost = head.lost ? headerFacts(model).length - 1 : -1;
    headerFacts(model).forEach((fact, i) =>
        facts.append(make('span', {class: i === lost ? 'warning' : null}, fact)));
    if (!head.notes.length) return;
    facts.append(make('details', {}, make('summary', {}, countWords(head.notes.length, 'note')),
        make('ul', {}, ...head.notes.map((note) => make('li', {}, note)))));
}

/// Returns the share of the time in which a stream was busy, for the second line of its label.
function busyWords(model, row) {
    const totals = model.head.totals.find((t) => t.stream === row.index);
    const whole = model.head.end - model.head.begin;
    return totals && whole > 0 ? `${Math.round((totals.busy / whole) * 100)} %` : '';
}

function headLabel(model, {device}) {
    if (device < 0) return ['Host threads', ''];
    const {label, name} = model.head.devices[device];
    return [label, name];
}

function fillLabels(model) {
    const labels = find('labels');
    labels.style.height = `${model.height}px`;
    for (const head of model.heads) {
        const [label, name] = headLabel(model, head);
        labels.append(make('div', {class: 'head', role: 'listitem', style: `top: ${head.top}px`,
            title: name || label}, make('b', {}, label), ` ${name}`));
    }
    for (const row of model.rows) {
        const label = row.isThread ? model.head.threads[row.index]
            : model.head.streams[row.index].label;
        const busy = row.isThread ? '' : busyWords(model, row);
        labels.append(make('div', {class: 'row', role: 'listitem', title: busy
            ? `${label}: busy ${busy} of the time` : label,
        style: `top: ${row.top}px; height: ${row.height}px`},
        make('span', {class: 'name'}, label), make('span', {class: 'busy'}, busy)));
    }
}

function fillKeys(dialog, model) {
    const keys = [
        ['w s', 'zoom in and out; also the wheel'],
        ['a d', 'pan; also dragging, and Shift with the wheel'],
        ['arrows', 'select the bar to the left or right, or on the next row'],
        ['Enter', 'zoom to what is selected; also a double click'], ['f', 'show all'],
        ['/', 'find'], ['n p', 'next and previous match'], ['c', 'highlight the critical path'],
        ['t', 'show or hide the tables'], ['Esc', 'select nothing; then end the search'],
    ];
    const list = make('dl');
    for (const [key, what] of keys)
        list.append(make('dt', {}, ...key.split(' ').map((k) => make('kbd', {}, k))),
            make('dd', {}, what));
    dialog.append(make('h2', {}, 'Keys'), list, make('h2', {}, 'Bars, gaps and arrows'),
        legend(model),
        make('p', {}, 'A bold arrow leads from what was waited for to what it held up. What a ' +
            'thin one waited for was over already. A bar that fades in has a deduced start: only ' +
            'its end was measured. Bars narrower than a pixel are shaded by their busy share.'),
        make('form', {method: 'dialog'}, make('button', {}, 'Close')));
}

function listenToControls({elements} = page) {
    const click = (name, action) => elements[name].addEventListener('click', action);
    click('previous', () => page.step(-1));
    click('next', () => page.step(1));
    click('zoom-in', () => page.zoomBy(1.5));
    click('zoom-out', () => page.zoomBy(1 / 1.5));
    click('fit', () => page.fit());
    click('help', () => elements.keys.showModal());
    click('critical', () => page.toggleCritical());
    click('fold', () => page.toggleTables());
    click('theme', () => page.setTheme(page.themeName() === 'dark' ? 'light' : 'dark'));
    const tabs = [...document.querySelectorAll('[role=tab]')];
    tabs.forEach((tab, i) => {
        tab.addEventListener('click', () => page.showTab(tab.id.slice(4)));
        tab.addEventListener('keydown', ({key}) => {
            const by = {ArrowRight: 1, ArrowLeft: -1}[key];
            if (!by) return;
            const next = tabs[(i + by + tabs.length) % tabs.length];
            next.focus();
            next.click();
        });
    });
}

/// Returns the state of the page, for tests.
function pageState() {
    const {model, view, selection, drawn, matches} = page;
    return {
        rows: model.rows.map((row) => ({
            label: row.isThread ? model.head.threads[row.index]
                : model.head.streams[row.index].label,
            isThread: Boolean(row.isThread), top: row.top, height: row.height, lanes: row.lanes,
        })),
        bars: drawn.bars, rectangles: drawn.rectangles, gaps: drawn.gaps, arrows: drawn.arrows,
        marked: drawn.marked, step: drawn.step, selection,
        matches: matches ? matches.items.length : 0, match: page.match,
        range: {from: view.from, to: view.to, begin: view.begin, end: view.end},
        isCritical: page.isCritical, tab: page.tab, theme: page.themeName(),
        firstPaint: page.firstPaint, lastFrame: page.lastFrame, looked: drawn.looked,
        atFirst: page.atFirst, isIdle: page.isFilled && !page.isFrameDue,
    };
}

function start() {
    const head = JSON.parse(find('head').textContent);
    const bytes = bytesOfBase64(find('columns').textContent);
    const model = makeModel(head, readColumns(head.columns, bytes));
    page.bytes = bytes.length;
    find('columns').remove();
    for (const element of document.querySelectorAll('[id]')) page.elements[element.id] = element;
    Object.assign(page, {model, view: makeView(head.begin, head.end), rows: find('rows')});
    fillHeader(model);
    fillLabels(model);
    find('empty').hidden = model.rows.length > 0;
    page.setTheme('');
    page.resize();
    page.frame();
    for (const listen of [listenToPointers, listenToWheel]) listen(page.elements.bars);
    listenToOverview(page.elements.overview);
    listenToFind(page.elements.find);
    listenToKeys();
    listenToControls();
    page.find(null);
    new ResizeObserver(page.resize).observe(page.rows);
    page.rows.addEventListener('scroll', page.requestFrame);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => page.setTheme(''));
    window.heddle = {state: pageState, page};
    setTimeout(() => {
        page.select(null);
        page.showTab('idle');
        fillKeys(page.elements.keys, model);
        page.isFilled = true;
    });
}

start();
