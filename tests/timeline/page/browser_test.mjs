// Opens pages in a headless Chromium: node browser_test.mjs FOLDER [SCREENSHOTS]. The folder must
// be written by make_pages. If a page is passed instead, only the general checks are made. The exit
// status is 77 if there is no Chromium.
import {existsSync, mkdirSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {cases, looksFine} from './browser_cases.mjs';
import {findChromium, withChromium} from './chromium.mjs';
import {patient} from './patience.mjs';

const most = patient(500);

/// Fails if the promise takes too long, because a page that hangs never answers.
function withinTime(promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not done after ${most / 1000} s`)), most);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function run(name, test, newTab) {
    const tab = await newTab();
    try {
        await withinTime(test(tab));
        console.log(`passed: ${name}`);
        return true;
    } catch (error) {
        console.log(`FAILED: ${name}\n${error.stack}`);
        return false;
    } finally {
        await tab.close();
    }
}

const [target, pictures] = process.argv.slice(2);
if (!target || !existsSync(target)) {
    console.error('usage: node browser_test.mjs FOLDER|PAGE [SCREENSHOTS]');
    process.exit(2);
}
const chromium = findChromium();
if (!chromium) {
    console.log('skipped: there is no Chromium (chromium, chromium-browser, google-chrome)');
    process.exit(77);
}
if (pictures) mkdirSync(pictures, {recursive: true});
const keep = (name, png) => pictures && writeFileSync(join(pictures, `${name}.png`), png);
const at = (file) => join(target, file);
const tests = statSync(target).isDirectory()
    ? Object.entries(cases).map(([name, test]) => [name, (tab) => test(tab, at, keep)])
    : [['the page opens without a complaint', (tab) => looksFine(tab, target, keep)]];

let passed = 0;
await withChromium(chromium, async (newTab) => {
    for (const [name, test] of tests) passed += await run(name, test, newTab);
});
console.log(`${passed} of ${tests.length} passed`);
process.exitCode = passed === tests.length ? 0 : 1;
