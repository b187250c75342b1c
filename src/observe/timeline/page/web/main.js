'use strict';

// The page as a whole: its state, and its actions.

const find = (id) => document.getElementById(id);

const page = {
    elements: {}, selection: null, matches: null, match: -1, highlight: null, drawn: {},
    isCritical: false, isFrameDue: false, isFilled: false, firstPaint: 0, lastFrame: 0, tab: 'idle',
    bytes: 0, atFirst: null,

    requestFrame() {
        if (page.isFrameDue) return;
        page.isFrameDue = true;
        requestAnimationFrame(page.frame);
    },

    frame() {
        const began = performance.now(), lookedBefore = looked.at;
        const {model, view, elements, theme} = page;
        page.isFrameDue = false;
        const scroll = page.rows.scrollTop, height = elements.stage.clientHeight;
        view.width = Math.max(elements.bars.clientWidth, 1);
        const isSeen = (row) => row.top + row.height > scroll && row.top < scroll + height;
        const plan = planFrame(model, view, isSeen);
        const layers = {context: contextOf(elements.bars), texts: contextOf(elements.texts)};
        drawRows(layers, theme, model, plan, view, scroll, page.highlight !== null);
        let marked = 0;
        if (page.highlight) marked = page.drawHighlight(layers, isSeen, scroll);
        drawAxis(contextOf(elements.axis), theme, view);
        drawOverview(contextOf(elements.overview), theme, model, view);
        const arrows = drawOverlay(elements.arrows, model, view, scroll,
            planArrows(model, view, page.chosenArrows, page.isCritical), page.selection);
        elements.arrows.classList.toggle('dim', page.highlight !== null && !page.isCritical);
        elements.span.textContent = `${timeWords(view.to - view.from)} shown`;
        page.drawn = {arrows, marked, rectangles: plan.rectangles, step: plan.step,
            looked: looked.at - lookedBefore,
            gaps: plan.rows.reduce((sum, row) => sum + row.gaps.length, 0),
            bars: plan.rows.flatMap((row) => row.lanes).flat()
                .reduce((sum, cluster) => sum + cluster.last - cluster.first, 0)};
        page.lastFrame = performance.now() - began;
        page.firstPaint ||= performance.now();
        page.atFirst ??= {bytes: page.bytes, looked: looked.at,
            elements: document.getElementsByTagName('*').length};
    },

    /// Draws the matches, or the critical path, over the dimmed picture. Returns the number of
    /// rectangles.
    drawHighlight(layers, isSeen, scroll) {
        const rows = page.model.rows.map((row, i) => ({...row, bars: page.highlight[i]}));
        const none = new Int32Array(page.model.firstGap.length);
        const part = {...page.model, rows, firstGap: none};
        const plan = planFrame(part, page.view, isSeen, 1500);
        const memory = -1;
        for (const {row, lanes} of plan.rows)
            lanes.forEach((clusters, i) => {
                const y = row.top - scroll + i * row.laneHeight;
                for (const cluster of clusters)
                    drawCluster(layers, page.theme, part, row.bars[i], {...cluster, share: 1}, y,
                        row.laneHeight, memory);
            });
        return plan.rectangles;
    },

    /// Returns the item at a position in the picture.
    at: ({x, y}) => hit(page.model, page.view, x, y + page.rows.scrollTop),

    hover(place) {
        const {tip} = page.elements, found = place && page.at(place);
        tip.hidden = !found;
        page.elements.bars.style.cursor = found ? 'pointer' : '';
        if (!found) return;
        tip.textContent = tipWords(page.model, found);
        const {offsetLeft, offsetTop} = page.elements.rows;
        const left = offsetLeft + page.elements.labels.clientWidth + place.x + 14;
        const room = page.elements.time.clientWidth - tip.offsetWidth - 8;
        tip.style.transform = `translate(${Math.min(left, room)}px, ${offsetTop + place.y + 18}px)`;
    },

    /// Selects an item, or clears the selection if `selection` is null. If `isShown` is set, moves
    /// the view to the item.
    select(selection, isShown = false) {
        const {model, elements} = page;
        page.selection = selection;
        page.chosenArrows = [];
        if (selection?.op !== undefined) {
            const {before, after} = arrowsOfOp(model, selection.op);
            page.chosenArrows = [...before, ...after].slice(0, 100);
        }
        if (selection && isShown) page.reveal(selection);
        elements.why.replaceChildren(...whyOf(model, selection).filter((part) => part !== ''));
        elements.why.scrollTop = 0;
        page.requestFrame();
    },

    reveal(selection) {
        const {model, view} = page, place = placeOfSelection(model, selection);
        const [begin, end] = timesOfSelection(model, selection);
        reveal(view, begin, end);
        const row = model.rows[place.row], height = page.elements.stage.clientHeight;
        if (!row) return;
        const {scrollTop} = page.rows;
        if (row.top < scrollTop || row.top + row.height > scrollTop + height)
            page.rows.scrollTop = row.top - height / 2;
    },

    zoomTo(selection) {
        if (!selection) return;
        const [begin, end] = timesOfSelection(page.model, selection), length = end - begin;
        show(page.view, begin - length * 0.6, end + length * 0.6);
        page.requestFrame();
    },

    zoomBy(factor) { zoom(page.view, page.view.width / 2, factor); page.requestFrame(); },
    panBy(share) { pan(page.view, page.view.width * share); page.requestFrame(); },
    fit() { showAll(page.view); page.requestFrame(); },

    move(right, down) {
        const next = neighbour(page.model, page.view, page.selection, right, down);
        if (next) page.select(next, true);
    },

    escape() {
        if (page.selection) return page.select(null);
        page.elements.find.value = '';
        page.find(null);
    },

    findWords(words) { page.find(words.trim() ? findText(page.model, words.trim()) : null); },

    /// Highlights matches. If `isShown` is set, also selects the first one.
    find(matches, isShown = false) {
        const {model, elements} = page;
        page.matches = matches;
        page.match = -1;
        page.setCritical(false);
        const isAny = matches !== null && matches.items.length > 0;
        page.highlight = isAny ? filteredRows(model, matches.isWanted) : null;
        elements.found.textContent = matches ? `${matches.items.length} found` : '';
        for (const button of [elements.next, elements.previous])
            button.disabled = !isAny;
        if (isShown) page.step(1);
        page.requestFrame();
    },

    step(by) {
        const all = page.matches?.items ?? [];
        if (!all.length) return;
        const from = page.match < 0 && by < 0 ? 0 : page.match;
        page.match = (from + by + all.length) % all.length;
        page.elements.found.textContent = `${page.match + 1} of ${all.length}`;
        page.select(selectionOfItem(page.model, all[page.match]), true);
    },

    setCritical(isOn) {
        page.isCritical = isOn;
        page.elements.critical.setAttribute('aria-pressed', isOn);
    },

    toggleCritical() {
        const isOn = !page.isCritical;
        page.elements.find.value = '';
        page.find(null);
        page.setCritical(isOn);
        page.highlight = isOn ? filteredRows(page.model, (kind, item) =>
            isCriticalItem(page.model, kind, item)) : null;
    },

    toggleTables() {
        const isFolded = document.body.classList.toggle('folded');
        page.elements.fold.setAttribute('aria-expanded', !isFolded);
        page.resize();
    },

    showTab(name) {
        const tables = {idle: idleTable, kernels: kernelTable, waits: waitTable,
            critical: criticalTable};
        page.tab = name;
        for (const tab of document.querySelectorAll('[role=tab]')) {
            const isShown = tab.id === `tab-${name}`;
            tab.setAttribute('aria-selected', isShown);
            tab.tabIndex = isShown ? 0 : -1;
        }
        page.elements.table.setAttribute('aria-labelledby', `tab-${name}`);
        page.elements.table.replaceChildren(tables[name](page.model));
    },

    setTheme(name) {
        if (name) document.documentElement.style.colorScheme = name;
        page.theme = readTheme(page.model.head, page.elements.bars.getContext('2d'));
        page.elements.theme.setAttribute('aria-pressed', page.themeName() === 'dark');
        page.requestFrame();
    },

    themeName() {
        const chosen = document.documentElement.style.colorScheme;
        return chosen || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    },

    resize() {
        page.elements.stage.style.height = `${page.rows.clientHeight}px`;
        page.requestFrame();
    },
};
