'use strict';

// Finds operations by text, and steps through the matches.

/// Returns for each string 1 if it contains the text, ignoring case, and 0 otherwise.
const stringsWith = (strings, text) => {
    const wanted = text.toLowerCase();
    return Uint8Array.from(strings, (string) => (string.toLowerCase().includes(wanted) ? 1 : 0));
};

/// Returns for each site 1 if it matches, and 0 otherwise. A site matches by its file, its stream
/// or its name; a site without a name matches by its kind.
function matchingSites(model, text) {
    const {head} = model;
    const strings = stringsWith(head.strings, text);
    const kinds = stringsWith(head.kinds.map(plain), text);
    const streams = stringsWith(head.streams.map((stream) => stream.label), text);
    return Uint8Array.from(model.siteName, (name, site) => strings[name] ||
        strings[model.siteFile[site]] || streams[model.siteStream[site]] ||
        (name === 0 && kinds[model.siteKind[site]]) || 0);
}

function matchingNodes(model, text) {
    const strings = stringsWith(model.head.strings, text);
    return Uint8Array.from(model.nodeName, (name, node) =>
        strings[name] || strings[model.nodeFile[node]]);
}

/// Returns matches: {isWanted(kind, item), items}. The keys n and p step through the items in the
/// order of their calls. An item is the index of a bar, or ~op for an operation that has a call but
/// no bar.
function matchesOf(model, sites, nodes) {
    const {opSite, opBar, opCallLane, barOp, barNode} = model;
    const nodeBars = new Map();
    const isNodeWanted = (bar) => barNode[bar] !== 0 && nodes[nodeOfBar(model, bar)] === 1;
    if (nodes.includes(1))
        for (let bar = 0; bar < barOp.length; ++bar)
            if (isNodeWanted(bar))
                nodeBars.set(barOp[bar], [...(nodeBars.get(barOp[bar]) ?? []), bar]);
    const items = [];
    for (let op = 0; op < opSite.length; ++op) {
        const isWanted = sites[opSite[op]] === 1;
        if (isWanted && opBar[op] >= 0 && barNode[opBar[op]] === 0) items.push(opBar[op]);
        else if (isWanted && opCallLane[op] >= 0) items.push(~op);
        for (const bar of nodeBars.get(op) ?? []) items.push(bar);
    }
    const isWanted = (kind, item) => {
        if (kind === 'bar' && barNode[item] !== 0) return isNodeWanted(item);
        return kind !== 'range' && sites[opSite[kind === 'bar' ? barOp[item] : item]] === 1;
    };
    return {isWanted, items};
}

const selectionOfItem = (model, item) => (item >= 0 ? {op: model.barOp[item], bar: item}
    : {op: ~item, bar: model.opBar[~item], isCall: true});

const findText = (model, text) =>
    matchesOf(model, matchingSites(model, text), matchingNodes(model, text));

/// Returns all runs of one kernel as matches. `name` is the index of the kernel's name.
function findKernel(model, name) {
    const kernel = model.head.classes.findIndex((look) => look.key === 'kernel');
    const sites = Uint8Array.from(model.siteName, (n, i) =>
        Number(n === name && model.siteClass[i] === kernel));
    const nodes = Uint8Array.from(model.nodeName, (n, i) =>
        Number(n === name && model.nodeClass[i] === kernel));
    return matchesOf(model, sites, nodes);
}

/// Returns whether an item is on the critical path.
function isCriticalItem(model, kind, item) {
    if (kind === 'bar') return model.isCritical[model.barOp[item]] === 1;
    return kind === 'call' && model.isCritical[item] === 1 && model.opBar[item] < 0;
}
