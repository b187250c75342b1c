'use strict';

// Draws bars, gaps and the axis on canvases. Labels of bars and gaps are drawn on `texts`, a canvas
// above the arrows. While bars are dimmed, their labels are drawn on the bars' own canvas.

const fontOf = (size, weight = 400) => `${weight} ${size}px system-ui, -apple-system, sans-serif`;
const labelWidths = new Map();

/// Sizes a canvas like its element. Returns its context, scaled to CSS pixels.
function contextOf(canvas) {
    const {clientWidth: width, clientHeight: height} = canvas;
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
}

/// Returns the theme's colours in a form that canvases accept, and the hatchings for gaps.
function readTheme(head, context) {
    const probe = document.createElement('i');
    document.body.append(probe);
    const read = (name) => {
        probe.style.color = `var(--${name})`;
        return getComputedStyle(probe).color;
    };
    const theme = {
        bars: head.classes.map((look) => read(look.key)),
        gaps: head.gapLooks.map((look) => hatching(context, read(look.key))),
        gapColours: head.gapLooks.map((look) => read(look.key)),
    };
    for (const name of ['bar-ink', 'ink', 'soft', 'ground', 'line', 'row', 'range', 'accent'])
        theme[name] = read(name);
    probe.remove();
    return theme;
}

function hatching(context, colour) {
    const tile = document.createElement('canvas'), size = 8;
    tile.width = tile.height = size;
    const c = tile.getContext('2d');
    c.strokeStyle = c.fillStyle = colour;
    c.globalAlpha = 0.1;
    c.fillRect(0, 0, size, size);
    c.globalAlpha = 0.55;
    c.lineWidth = 1.3;
    for (const shift of [-size, 0, size]) {
        c.beginPath();
        c.moveTo(shift - 1, size + 1);
        c.lineTo(shift + size + 1, -1);
        c.stroke();
    }
    return context.createPattern(tile, 'repeat');
}

function widthOf(context, text) {
    const key = context.font + text;
    let width = labelWidths.get(key);
    if (width === undefined) {
        if (labelWidths.size > 20000) labelWidths.clear();
        labelWidths.set(key, width = context.measureText(text).width);
    }
    return width;
}

/// Returns the text, cut to fit and with an ellipsis. Returns '' if hardly any letter would fit.
function fitted(context, text, room) {
    if (widthOf(context, text) <= room) return text;
    const letters = Math.floor((room / widthOf(context, text)) * text.length) - 1;
    return letters < 3 ? '' : `${text.slice(0, letters)}…`;
}

function drawRowGround(context, theme, {row}, y, width) {
    context.fillStyle = theme.row;
    context.fillRect(0, y - 3, width, row.height + 6);
}

/// Returns the longest fitting text for a gap, made of its reason, cause and length. Returns '' if
/// no text fits.
function gapText(context, model, gap, room) {
    if (room < 20) return '';
    const words = gapWords(model, gap), time = timeWords(gapLength(model, gap));
    const {label, brief} = model.head.gapLooks[model.gapReason[gap]];
    return [`${words}  ${time}`, words, `${label}  ${time}`, label, brief]
        .find((text) => widthOf(context, text) <= room) ?? '';
}

function drawGap({context, texts}, theme, model, {x0, x1, gap}, y, height) {
    context.fillStyle = theme.gaps[model.gapReason[gap]];
    context.fillRect(x0, y + 4, x1 - x0, height - 8);
    texts.font = fontOf(11);
    const text = gapText(texts, model, gap, x1 - x0 - 14);
    if (!text) return;
    const width = widthOf(texts, text), x = (x0 + x1 - width) / 2;
    texts.fillStyle = theme.row;
    texts.fillRect(x - 5, y + 4, width + 10, height - 8);
    texts.fillStyle = theme.ink;
    texts.fillText(text, x, y + height / 2 + 0.5);
}

const gapLength = (model, gap) => model.gapEndAt[gap] - model.gapBeginAt[gap];

function itemLabel(model, lane, item) {
    if (lane.kind === 'range') return model.text[model.rangeName[item]];
    return lane.kind === 'bar' ? barLabel(model, item) : opLabel(model, item);
}

const fadeLength = 10;
const isDeduced = (model, lane, cluster) =>
    lane.kind === 'bar' && model.barDeduced[lane.item[cluster.first]] === 1;

/// Fades the left edge of a bar, because the bar's start is only deduced.
function drawDeducedEdge(context, theme, x, y, width, height) {
    const length = Math.min(fadeLength, width / 2);
    const fade = context.createLinearGradient(x, 0, x + length, 0);
    fade.addColorStop(0, theme.row);
    fade.addColorStop(1, theme.row.replace('rgb(', 'rgba(').replace(')', ', 0)'));
    context.fillStyle = fade;
    context.fillRect(x, y, length, height);
}

function drawLabel(context, theme, model, lane, cluster, y, height) {
    const left = isDeduced(model, lane, cluster) ? fadeLength : 5;
    const x = cluster.x0 + left, width = cluster.x1 - cluster.x0;
    if (width < 26) return;
    const size = height < 20 ? 10 : 12;
    context.font = fontOf(size);
    context.fillStyle = lane.kind === 'range' ? theme.ink : theme['bar-ink'];
    const label = itemLabel(model, lane, lane.item[cluster.first]), room = width - left - 5;
    const brief = widthOf(context, label) > room && model.head.briefNames[label];
    const text = fitted(context, brief || label, room);
    if (!text) return;
    context.fillText(text, x, y + height / 2 + 0.5);
    const time = timeWords(lane.end[cluster.first] - lane.start[cluster.first]);
    const rest = width - widthOf(context, text) - left - 20;
    if (lane.kind !== 'bar' || widthOf(context, time) > rest) return;
    context.globalAlpha = 0.72;
    context.fillText(time, cluster.x1 - widthOf(context, time) - 6, y + height / 2 + 0.5);
    context.globalAlpha = 1;
}

function drawCluster({context, texts}, theme, model, lane, cluster, y, height, memory) {
    const isMany = cluster.last > cluster.first + 1;
    const isThin = lane.kind === 'bar' && cluster.look === memory;
    const inset = isThin ? Math.floor(height / 3) : 1;
    const width = cluster.x1 - cluster.x0;
    const drawn = Math.max(width - (width > 3 && !isMany ? 1 : 0), 1);
    context.fillStyle = theme.bars[cluster.look];
    if (lane.kind === 'range') {
        context.fillStyle = theme.range;
        context.fillRect(cluster.x0, y + 1, drawn, height - 2);
    } else {
        context.globalAlpha = cluster.share < 1 ? 0.3 + 0.7 * cluster.share : 1;
        context.fillRect(cluster.x0, y + inset, drawn, height - 2 * inset);
        context.globalAlpha = 1;
    }
    if (isMany || isThin) return;
    if (width > 5 && isDeduced(model, lane, cluster))
        drawDeducedEdge(context, theme, cluster.x0, y + inset, width, height - 2 * inset);
    drawLabel(texts, theme, model, lane, cluster, y, height);
}

/// Draws the rows of a plan, scrolled up by `scroll` pixels. If `dim` is set, draws them dimmed, so
/// that a highlight drawn later stands out.
function drawRows({context, texts}, theme, model, plan, view, scroll, dim) {
    const memory = model.head.classes.findIndex((look) => look.key === 'memory');
    const layers = {context, texts: dim ? context : texts};
    context.textBaseline = texts.textBaseline = 'middle';
    for (const planned of plan.rows)
        drawRowGround(context, theme, planned, planned.row.top - scroll, view.width);
    drawGrid(context, theme, view);
    for (const {row, lanes, gaps} of plan.rows) {
        const y = row.top - scroll;
        for (const gap of gaps) drawGap(layers, theme, model, gap, y, row.laneHeight);
        lanes.forEach((clusters, i) => {
            const laneTop = y + i * row.laneHeight;
            for (const cluster of clusters)
                drawCluster(layers, theme, model, row.bars[i], cluster, laneTop, row.laneHeight,
                    memory);
        });
    }
    if (!dim) return;
    context.globalAlpha = 0.66;
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, view.width, model.height);
    context.globalAlpha = 1;
}

function drawGrid(context, theme, view) {
    context.fillStyle = theme.line;
    for (const time of ticksOf(view).times)
        context.fillRect(Math.round(xOf(view, time)), 0, 1, context.canvas.height);
}

function drawAxis(context, theme, view) {
    const {step, times} = ticksOf(view);
    context.font = fontOf(11);
    context.textBaseline = 'alphabetic';
    for (const time of times) {
        const x = Math.round(xOf(view, time));
        context.fillStyle = theme.line;
        context.fillRect(x, 16, 1, 12);
        context.fillStyle = theme.soft;
        const words = axisWords(time, step);
        if (x + 5 + widthOf(context, words) < view.width) context.fillText(words, x + 5, 18);
    }
}

/// Draws the whole recording as a strip with a line for each row. A frame marks the visible part.
function drawOverview(context, theme, model, view) {
    const whole = {...view, from: view.begin, to: view.end};
    const {clientHeight: height} = context.canvas;
    const line = Math.min(5, (height - 4) / Math.max(1, model.rows.length));
    if (model.overview?.width !== view.width)
        model.overview = {...planFrame(model, whole, () => true, 1500), width: view.width};
    for (const {index, lanes} of model.overview.rows)
        for (const cluster of lanes.flat()) {
            ++looked.at;
            context.fillStyle = theme.bars[cluster.look];
            context.globalAlpha = 0.3 + 0.7 * cluster.share;
            context.fillRect(cluster.x0, 2 + index * line, Math.max(cluster.x1 - cluster.x0, 1),
                Math.max(line - 1, 1));
        }
    context.globalAlpha = 1;
    const x0 = xOf(whole, view.from), x1 = xOf(whole, view.to);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x0 + 0.75, 0.75, Math.max(x1 - x0 - 1.5, 2), height - 1.5);
}
