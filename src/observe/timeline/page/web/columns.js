'use strict';

// Reads columns of numbers. timeline/page/columns.hpp describes their format.

const arrayTypes = {u8: Uint8Array, i32: Int32Array, f64: Float64Array};

function bytesOfBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = characters.charCodeAt(i);
    return bytes;
}

/// Converts 0, 1, 2, 3 to 0, -1, 1, -2, also for numbers beyond 32 bits.
function notAlternating(number) {
    if (number < 0x80000000) return (number >>> 1) ^ -(number & 1);
    return number % 2 ? -(number + 1) / 2 : number / 2;
}

/// Reads one column. The entry is [name, code, values, bytes, type].
function readColumn(bytes, [, code, count, , type]) {
    const values = new arrayTypes[type](count);
    const areDifferences = code === 1 || code === 3, areRuns = code >= 2;
    let at = 0, before = 0;
    const next = () => {
        let byte = bytes[at++];
        let number = byte & 127;
        for (let unit = 128; byte > 127; unit *= 128) {
            byte = bytes[at++];
            number += (byte & 127) * unit;
        }
        return number;
    };
    for (let i = 0; i < count;) {
        const number = notAlternating(next());
        const end = areRuns ? Math.min(count, i + next() + 1) : i + 1;
        for (; i < end; ++i) values[i] = before = areDifferences ? before + number : number;
    }
    return values;
}

/// Returns {opSite: Int32Array, ...}.
function readColumns(directory, bytes) {
    const columns = {};
    let at = 0;
    for (const entry of directory) {
        columns[entry[0]] = readColumn(bytes.subarray(at, at + entry[3]), entry);
        at += entry[3];
    }
    return columns;
}
