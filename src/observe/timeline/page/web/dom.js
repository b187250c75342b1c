'use strict';

// Makes elements of the panel and the tables. Data becomes text, never HTML.

/// Makes an element. Strings among the children become text.
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes))
        if (typeof value === 'function') element.addEventListener(key, value);
        else if (value !== null) element.setAttribute(key, value);
    element.append(...children.flat().filter((child) => child !== null && child !== ''));
    return element;
}

const swatch = (key, isGap = false) =>
    make('i', {class: isGap ? 'swatch gap' : 'swatch', style: `--look: var(--${key})`});

/// Makes a button that selects an item and shows it.
function link(words, selection, title = 'Select and show it') {
    return make('button', {class: 'link', title, click: () => page.select(selection, true)}, words);
}
const opLink = (model, op, bar = model.opBar[op]) => link(opLabel(model, op), {op, bar});

function facts(pairs) {
    const list = make('dl');
    for (const [name, value] of pairs)
        if (value) list.append(make('dt', {}, name), make('dd', {}, ...[value].flat()));
    return list;
}

function placeElement(model, op) {
    const place = opPlace(model, op);
    return place && make('code', {title: place[1]}, place[0]);
}

function section(title, ...children) {
    return make('section', {}, make('h3', {}, title), ...children);
}

/// Makes a list of the first entries, with the number of further ones.
function shortList(items, most = 12) {
    const rest = items.length - most;
    return make('ul', {class: 'links'}, ...items.slice(0, most).map((item) => item()),
        rest > 0 ? make('li', {}, `and ${rest} more`) : '');
}

const nothing = (words) => make('p', {class: 'nothing'}, words);
