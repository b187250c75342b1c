import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load, timeUnits} from './load.mjs';

const {useWordsOf, timeWords, axisWords, bytesWords, rateWords, shareWords, placeWords,
    countWords} = load('useWordsOf', 'timeWords', 'axisWords', 'bytesWords', 'rateWords',
    'shareWords', 'placeWords', 'countWords');
useWordsOf({timeUnits});

test('lengths of time have three digits, as in C++', () => {
    assert.deepEqual([0, 7, 999, 1234, 12345, 123456, 1234567, 61.5e9].map(timeWords),
        ['0 ns', '7 ns', '999 ns', '1.23 µs', '12.3 µs', '123 µs', '1.23 ms', '61.5 s']);
    assert.deepEqual([99940, 99960, 999499, 999600, 3.6e12].map(timeWords),
        ['99.9 µs', '100 µs', '999 µs', '1.00 ms', '3600 s']);
    assert.equal(timeWords(-1500), '-1.50 µs');
});

test('moments on an axis are as exact as its ticks', () => {
    assert.equal(axisWords(0, 100), '0');
    assert.equal(axisWords(12345678, 1000), '12.346 ms');
    assert.equal(axisWords(12345678, 1), '12.345678 ms');
    assert.equal(axisWords(2000000, 500000), '2.0 ms');
    assert.equal(axisWords(3000000, 1000000), '3 ms');
    assert.equal(axisWords(5000000000, 1000000000), '5 s');
});

test('bytes and rates are decimal', () => {
    assert.deepEqual([0, 999, 8388608, 3e9].map(bytesWords),
        ['0 B', '999 B', '8.39 MB', '3.00 GB']);
    assert.equal(rateWords(8388608, 180000), '46.6 GB/s');
    assert.equal(rateWords(1, 0), '');
});

test('counts have their noun', () => {
    assert.equal(countWords(1, 'stream'), '1 stream');
    assert.equal(countWords(1234567, 'operation'), '1 234 567 operations');
});

test('a share of nothing is a dash', () => {
    assert.equal(shareWords(1, 0), '–');
    assert.equal(shareWords(1, 3), '33.3 %');
});

test('a place is the name of the file and the line', () => {
    assert.equal(placeWords('/home/user/a b.cpp', 12), 'a b.cpp:12');
    assert.equal(placeWords('C:\\src\\a.cpp', 3), 'a.cpp:3');
    assert.equal(placeWords('', 3), '');
});
