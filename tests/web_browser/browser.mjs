// A real browser for tests/web_browser/run. One order a line on standard input, {"do": …}; one result a line on standard output.
import {createInterface} from 'node:readline';
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';

const [folder, axe, program, seconds] = process.argv.slice(2);
const timeout = seconds * 1000;
const {chromium} = createRequire(folder + '/lib/node_modules/')('playwright-core');
const axeSource = readFileSync(axe + '/lib/node_modules/axe-core/axe.min.js', 'utf8');
const browser = await chromium.launch({executablePath: program, timeout, args: ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer', '--disable-dev-shm-usage']});
let context, page, seen;

const orders = {
    // A browser without a past: light or dark, wide or narrow, with script or without.
    async open({url, dark, width, height, script, quiet}) {
        if (context)
            await context.close();
        context = await browser.newContext({colorScheme: dark ? 'dark' : 'light', viewport: {width: width || 1200, height: height || 850},
            javaScriptEnabled: script !== false, acceptDownloads: false, reducedMotion: 'reduce'}); // what moves is drawn anew all the time
        context.setDefaultTimeout(timeout);
        page = await context.newPage();
        seen = {dialogs: [], errors: [], foreign: []};
        page.on('dialog', (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
        page.on('console', (message) => { if (message.type() === 'error') seen.errors.push(message.text()); });
        page.on('pageerror', (error) => seen.errors.push(String(error)));
        page.on('request', (request) => { if (!request.url().includes('.localhost:')) seen.foreign.push(request.url()); });
        return orders.go({url, quiet});
    },
    // The text of a page with thousands of rows takes seconds to collect: `quiet` leaves it out.
    async go({url, quiet}) {
        const reply = await page.goto(url);
        return quiet ? {} : {status: reply.status(), url: page.url(), text: await page.innerText('body')};
    },
    async click({on, wait, quiet}) {
        await page.click(on);
        if (wait)
            await page.waitForSelector(wait);
        return quiet ? {} : {url: page.url(), text: await page.innerText('body')};
    },
    // Two clicks at once.
    async twice({on}) {
        await page.evaluate((on) => {
            document.querySelector(on).click();
            document.querySelector(on).click();
        }, on);
        return {};
    },
    async fill({on, text}) { await page.fill(on, text); return {}; },
    async select({on, value}) { await page.selectOption(on, value); return {}; },
    async press({key, wait}) {
        await page.keyboard.press(key);
        if (wait)
            await page.waitForSelector(wait);
        return {focus: await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200)), text: await page.innerText('body')};
    },
    async wait({on, text, quiet}) {
        await page.waitForSelector(on + (text ? `:has-text(${JSON.stringify(text)})` : ''), {state: 'attached'});
        return quiet ? {} : {text: await page.innerText('body')};
    },
    // Keys that come at once, with no time between them, to what has the focus.
    async type({keys}) {
        await page.evaluate((keys) => {
            for (const key of keys)
                document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
        }, keys);
        return {};
    },
    // Whenever the list of questions is another one, clicks there in the same moment: the hand was on its way.
    async hasty({on}) {
        await page.evaluate((on) => {
            new MutationObserver(() => {
                const button = document.querySelector(on);
                if (button) {
                    document.body.dataset.hasty = button.closest('.question').querySelector('h2').textContent;
                    button.click();
                }
            }).observe(document.getElementById('questions'), {childList: true});
        }, on);
        return {};
    },
    // Somebody chooses this while the list of questions is being loaded again. Returns what has the focus when it is there.
    async meanwhile({on}) {
        await page.route('**/requests', async (route) => {
            await page.focus(on);
            await route.continue();
        }, {times: 1});
        const reply = await page.waitForResponse('**/requests');
        await reply.finished();
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100))));
        return {focus: await page.evaluate(() => (document.activeElement.closest('.question') || document.activeElement).textContent)};
    },
    async count({on}) { return {count: await page.locator(on).count(), visible: await page.locator(on + ':visible').count()}; },
    async focus({on}) { await page.focus(on); return {}; },
    async check({on}) { await page.check(on); return {}; },
    // Pictures that the browser has decoded: their widths.
    async pictures({on}) {
        await page.waitForFunction((on) => [...document.querySelectorAll(on)].every((one) => one.complete), on);
        return {widths: await page.locator(on).evaluateAll((all) => all.map((one) => one.naturalWidth))};
    },
    // Leaves for another site, as a link or a script of the page would.
    async leave({url}) {
        await page.evaluate((url) => location.assign(url), url);
        await page.waitForFunction(() => document.title.startsWith('done'));
        return {title: await page.title()};
    },
    async texts({on}) { return {texts: await page.locator(on).allInnerTexts()}; },
    async size({width, height}) { await page.setViewportSize({width, height}); return {}; },
    async look({dark}) { await page.emulateMedia({colorScheme: dark ? 'dark' : 'light'}); return {}; },
    async shoot({file, whole}) { await page.screenshot({path: file, fullPage: Boolean(whole)}); return {}; },
    async width() { return {page: await page.evaluate(() => document.documentElement.scrollWidth), window: await page.evaluate(() => innerWidth)}; },
    async title() { return {title: await page.title()}; },
    async cookies() { return {cookies: await context.cookies()}; },
    async seen() { return seen; },
    async axe() {
        await page.evaluate(axeSource);
        const result = await page.evaluate(() => axe.run(document, {resultTypes: ['violations']}));
        return {violations: result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`)};
    },
    // A page of somebody else's, in the same browser.
    async visit({url}) {
        const other = await context.newPage();
        await other.goto(url);
        await other.waitForFunction(() => document.title.startsWith('done'));
        const title = await other.title();
        await other.close();
        return {title};
    },
};

for await (const line of createInterface({input: process.stdin})) {
    const {do: name, ...rest} = JSON.parse(line);
    let result;
    try {
        result = await orders[name](rest);
    } catch (error) {
        result = {failed: `${name}: ${String(error).slice(0, 1500)}`};
    }
    process.stdout.write(JSON.stringify(result) + '\n');
}
await browser.close();
