// Contrast of text by WCAG. Uses the colours that the browser has computed.

/// Runs in the page. Returns the elements that have text with a contrast below 4.5, for example
/// ["button#fit 3.1", ...].
function weakTexts() {
    const parse = (colour) => {
        const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
            .getContext('2d');
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) =>
        [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
    const light = ([r, g, b]) => [r, g, b].map((value) => value / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (element) => {
        if (!element) return [255, 255, 255, 1];
        const own = parse(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own : over(own, ground(element.parentElement));
    };
    const hasText = (element) => [...element.childNodes].some((node) =>
        node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    const weak = [];
    for (const element of document.querySelectorAll('#app *')) {
        if (!hasText(element) || !element.checkVisibility() || element.disabled) continue;
        const below = ground(element), text = over(parse(getComputedStyle(element).color), below);
        const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5)
            weak.push(`${element.tagName} "${element.textContent}" ${contrast.toFixed(2)}`);
    }
    return weak;
}

/// Runs in the page. Returns colours of the theme with too little contrast: below 4.5 for text,
/// below 1.5 for bars on a row.
function weakLooks() {
    const {theme, model} = heddle.page;
    const light = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map((value) => value / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (x, y) => {
        const [a, b] = [light(x), light(y)].sort((p, q) => q - p);
        return (a + 0.05) / (b + 0.05);
    };
    const weak = [];
    const check = (name, a, b, least) => {
        if (contrast(a, b) < least) weak.push(`${name} ${contrast(a, b).toFixed(2)}`);
    };
    theme.bars.forEach((colour, i) => {
        check(`text on ${model.head.classes[i].label}`, theme['bar-ink'], colour, 4.5);
        check(model.head.classes[i].label, colour, theme.row, 1.5);
    });
    for (const ground of ['row', 'ground', 'range']) check(ground, theme.ink, theme[ground], 4.5);
    check('axis', theme.soft, theme.ground, 4.5);
    return weak;
}

export const contrastProblems = (tab) => tab.run(`(${weakTexts})()`);
export const lookProblems = (tab) => tab.run(`(${weakLooks})()`);
