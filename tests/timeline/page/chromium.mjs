// Controls a headless Chromium by the DevTools protocol, through pipes. Needs no packages.
import {spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {patient} from './patience.mjs';

const names = ['/usr/bin/chromium', 'chromium', 'chromium-browser', 'google-chrome'];

/// Returns the path of a Chromium that can be started. Returns null if there is none.
export function findChromium() {
    const starts = (name) => spawnSync(name, ['--version'], {stdio: 'ignore'}).status === 0;
    return names.find(starts) ?? null;
}

/// Sends commands. Passes answers and events to their receivers.
class Connection {
    constructor(input, output) {
        this.input = input;
        input.on('error', () => {});  // Chromium has ended; end() reports it
        this.answers = new Map();
        this.listeners = [];
        this.last = 0;
        let rest = Buffer.alloc(0);
        output.on('data', (data) => {
            rest = Buffer.concat([rest, data]);
            for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1))
                this.take(JSON.parse(rest.subarray(0, end).toString()));
        });
    }

    take(message) {
        if (message.id === undefined) return this.listeners.forEach((listen) => listen(message));
        const {resolve, reject, method} = this.answers.get(message.id);
        this.answers.delete(message.id);
        if (message.error) reject(new Error(`${method}: ${message.error.message}`));
        else resolve(message.result);
    }

    /// Must be called when Chromium has ended, because commands then get no answers.
    end() {
        this.hasEnded = true;
        for (const {reject, method} of this.answers.values())
            reject(new Error(`${method}: Chromium has ended`));
        this.answers.clear();
    }

    send(method, params = {}, sessionId = undefined) {
        if (this.hasEnded) return Promise.reject(new Error(`${method}: Chromium has ended`));
        const id = ++this.last;
        this.input.write(`${JSON.stringify({id, method, params, sessionId})}\0`);
        return new Promise((resolve, reject) => this.answers.set(id, {resolve, reject, method}));
    }
}

/// One tab. Collects its requests, console messages and exceptions.
class Tab {
    constructor(connection, session) {
        this.connection = connection;
        this.session = session;
        this.requests = [];
        this.problems = [];
        connection.listeners.push((event) => event.sessionId === session && this.note(event));
    }

    note({method, params}) {
        if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
        if (method === 'Runtime.exceptionThrown')
            this.problems.push(params.exceptionDetails.exception?.description ??
                params.exceptionDetails.text);
        if (method === 'Runtime.consoleAPICalled')
            this.problems.push(params.args.map((a) => a.value ?? a.description).join(' '));
        if (method === 'Log.entryAdded') this.problems.push(params.entry.text);
        if (method === 'Page.loadEventFired') this.loaded?.();
    }

    send(method, params) { return this.connection.send(method, params, this.session); }

    async open(url) {
        this.requests.length = this.problems.length = 0;
        const loaded = new Promise((resolve) => { this.loaded = resolve; });
        await this.send('Page.navigate', {url});
        await loaded;
    }

    /// Runs an expression in the page. Returns the expression's value.
    async run(expression) {
        const {result, exceptionDetails} = await this.send('Runtime.evaluate',
            {expression, returnByValue: true, awaitPromise: true});
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description);
        return result.value;
    }

    /// Waits until the page has drawn everything. If its size changes, it draws another frame.
    frame() {
        return this.run(`new Promise((done) => {
            const look = () => {
                if (heddle.state().isIdle) done();
                else requestAnimationFrame(look);
            };
            requestAnimationFrame(() => requestAnimationFrame(look));
        })`);
    }

    async key(key) {
        const text = key.length === 1 ? key : undefined;
        const windowsVirtualKeyCode = {Tab: 9, Enter: 13, Escape: 27}[key];
        for (const type of ['keyDown', 'keyUp'])
            await this.send('Input.dispatchKeyEvent',
                {type, key, code: key, text, windowsVirtualKeyCode});
        await this.frame();
    }

    async type(text) {
        await this.send('Input.insertText', {text});
        await this.frame();
    }

    async mouse(type, x, y, more = {}) {
        await this.send('Input.dispatchMouseEvent', {type, x, y, ...more});
    }

    async click(x, y) {
        await this.mouse('mousePressed', x, y, {button: 'left', buttons: 1, clickCount: 1});
        await this.mouse('mouseReleased', x, y, {button: 'left', clickCount: 1});
        await this.frame();
    }

    async wheel(x, y, deltaY, more = {}) {
        await this.mouse('mouseWheel', x, y, {deltaX: 0, deltaY, ...more});
        await this.frame();
    }

    async drag(x0, y0, x1, y1) {
        await this.mouse('mousePressed', x0, y0, {button: 'left', buttons: 1, clickCount: 1});
        for (let i = 1; i <= 4; ++i)
            await this.mouse('mouseMoved', x0 + ((x1 - x0) * i) / 4, y0 + ((y1 - y0) * i) / 4,
                {button: 'left', buttons: 1});
        await this.mouse('mouseReleased', x1, y1, {button: 'left', clickCount: 1});
        await this.frame();
    }

    colours(scheme) {
        return this.send('Emulation.setEmulatedMedia',
            {features: [{name: 'prefers-color-scheme', value: scheme}]});
    }

    size(width, height) {
        return this.send('Emulation.setDeviceMetricsOverride',
            {width, height, deviceScaleFactor: 1, mobile: false});
    }

    scripts(areOn) {
        return this.send('Emulation.setScriptExecutionDisabled', {value: !areOn});
    }

    close() { return this.send('Page.close'); }

    /// Returns a picture of the page, as PNG.
    async picture() {
        const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
        return Buffer.from(data, 'base64');
    }
}

/// Starts Chromium and calls `use(newTab)`. Ends Chromium afterwards.
export async function withChromium(path, use) {
    const profile = mkdtempSync(join(tmpdir(), 'heddle_page_'));
    const browser = spawn(path, ['--headless=new', '--no-sandbox', '--disable-gpu',
        '--remote-debugging-pipe', '--no-first-run', '--disable-extensions',
        '--disable-background-networking', '--disable-component-update',
        '--hide-scrollbars', `--user-data-dir=${profile}`, 'about:blank'],
    {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    const ended = new Promise((resolve) => browser.on('exit', resolve));
    const connection = new Connection(browser.stdio[3], browser.stdio[4]);
    ended.then(() => connection.end());
    try {
        const newTab = async () => {
            const {targetId} = await connection.send('Target.createTarget', {url: 'about:blank'});
            const {sessionId} = await connection.send('Target.attachToTarget',
                {targetId, flatten: true});
            const tab = new Tab(connection, sessionId);
            for (const domain of ['Page', 'Runtime', 'Network', 'Log'])
                await tab.send(`${domain}.enable`);
            await tab.size(1440, 900);
            return tab;
        };
        return await use(newTab);
    } finally {
        const late = setTimeout(() => browser.kill('SIGKILL'), patient(30));  // if it hangs
        connection.send('Browser.close').catch(() => {});
        await ended;
        clearTimeout(late);
        rmSync(profile, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
    }
}
