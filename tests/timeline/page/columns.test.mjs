import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {bytesOfBase64, readColumn, readColumns} = load('bytesOfBase64', 'readColumn', 'readColumns');
const read = (text, code, count, type) =>
    [...readColumn(bytesOfBase64(text), ['x', code, count, 0, type])];

// tests/timeline/columns_test.cpp has the same columns.
test('values are read', () => {
    assert.deepEqual(read('BgMCAYACgIACAAA=', 0, 8, 'i32'), [3, -2, 1, -1, 128, 16384, 0, 0]);
});

test('differences are read', () => {
    assert.deepEqual(read('gIl63ATtBdAE', 1, 4, 'f64'), [1000000, 1000302, 999927, 1000223]);
});

test('runs of a value are read', () => {
    assert.deepEqual(read('DgIBAQ==', 2, 5, 'i32'), [7, 7, 7, -1, -1]);
});

test('runs of a difference are read', () => {
    assert.deepEqual(read('CgACBQ==', 3, 7, 'u8'), [5, 6, 7, 8, 9, 10, 11]);
});

test('numbers of more than 32 bits are exact', () => {
    assert.deepEqual(read('gICAgICAgBCAgICAgICAEP////////8P', 0, 3, 'f64'),
        [2 ** 52, 2 ** 52, -(2 ** 52)]);
});

test('columns follow each other', () => {
    const columns = readColumns([['a', 0, 2, 2, 'u8'], ['b', 0, 1, 1, 'i32']],
        Uint8Array.of(2, 4, 1));
    assert.deepEqual([...columns.a], [1, 2]);
    assert.deepEqual([...columns.b], [-1]);
});

test('base64 is read with and without the newer function', () => {
    const newer = Uint8Array.fromBase64;
    delete Uint8Array.fromBase64;
    assert.deepEqual([...bytesOfBase64('AP+A')], [0, 255, 128]);
    if (newer) Uint8Array.fromBase64 = newer;
    assert.deepEqual([...bytesOfBase64('')], []);
});
