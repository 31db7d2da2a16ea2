// The only script. Every page can be read without it; it adds live rows, differences on demand, filters and keys.
'use strict';

// All markup that is inserted comes from our own server, which escapes every value (src/web/html.h).
const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy('bawn', {createHTML: (text) => text})
    : {createHTML: (text) => text};

function insert(place, text) {
    place.insertAdjacentHTML('beforeend', policy.createHTML(text));
}

// A page that is on its way to another one must not be loaded again.
let isLeaving = false;
document.addEventListener('submit', (event) => {
    // A click that was meant for the question which stood here before.
    if (event.target.closest('.question') && performance.now() - changed < still)
        event.preventDefault();
    else
        isLeaving = true;
});

// --- the timeline, live
const rows = document.getElementById('rows');
if (rows && rows.dataset.events) {
    const events = new EventSource(rows.dataset.events);
    const mostRows = 5000;
    events.addEventListener('row', (event) => {
        insert(rows, event.data);
        while (rows.children.length > mostRows)
            rows.firstElementChild.remove();
        const count = document.querySelector('[data-count]');
        if (count)
            count.textContent = rows.children.length;
        narrow();
    });
    events.addEventListener('end', () => {
        events.close();
        if (!isLeaving)
            location.reload();
    });
    // Asked again it would send the same rows again: a page that lost its stream is loaded anew by hand.
    events.addEventListener('error', () => {
        events.close();
        const live = document.querySelector('.live');
        if (live)
            live.textContent = 'The page is no longer live. Load it again.';
    });
}

// --- filters
const filter = document.getElementById('filter');
function narrow() {
    const text = filter ? filter.value.toLowerCase() : '';
    for (const row of document.querySelectorAll('#rows tr, #items .item'))
        row.hidden = text !== '' && !row.textContent.toLowerCase().includes(text);
    // A part of a list that has nothing more to show goes, and one that has something opens.
    for (const part of document.querySelectorAll('#rows > details')) {
        part.hidden = text !== '' && !part.querySelector('tr:not([hidden])');
        part.open = text !== '' && !part.hidden;
    }
}
if (filter)
    filter.addEventListener('input', narrow);

// --- differences, when they are opened
async function load(place, address) {
    const reply = await fetch(address + '&part=1');
    if (!reply.ok) {
        place.textContent = 'This could not be loaded.';
        return;
    }
    insert(place, await reply.text());
}
document.addEventListener('toggle', (event) => {
    const details = event.target;
    if (!details.open || !details.dataset || !details.dataset.src || details.dataset.loaded)
        return;
    details.dataset.loaded = '1';
    load(details.querySelector('.scroll'), details.dataset.src);
}, true);
// One after the other, and at most so many: each is a request, and the page must stay usable.
const openAll = document.getElementById('open-all');
if (openAll) {
    const most = 100;
    openAll.hidden = false;
    openAll.addEventListener('click', async () => {
        const closed = [...document.querySelectorAll('.item:not([hidden]) details:not([open])')].slice(0, most);
        openAll.disabled = true;
        for (const details of closed) {
            details.dataset.loaded ||= '1';
            if (!details.querySelector('.scroll').hasChildNodes())
                await load(details.querySelector('.scroll'), details.dataset.src);
            details.open = true;
        }
        const left = document.querySelectorAll('.item:not([hidden]) details:not([open])').length;
        openAll.textContent = left ? `Open ${Math.min(left, most)} more` : 'All differences are open';
        openAll.disabled = !left;
    });
}
document.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-more]');
    if (!link)
        return;
    event.preventDefault();
    if (link.dataset.loading) // a second click would insert the same part twice
        return;
    link.dataset.loading = '1';
    const place = link.closest('.more');
    load(place.parentElement, link.getAttribute('href')).then(() => place.remove());
});

// --- keys of an open question
// A key answers only the question that somebody gave the focus, and only after a second in which it stood there unchanged and no key came: the key may be meant
// for another window, or for the question that was here before. A question that can be answered so has the class `ready`.
const still = 1000;
let readying = 0;
let changed = performance.now(); // when the questions on the page became others
function wait() {
    clearTimeout(readying);
    for (const question of document.querySelectorAll('.question.ready'))
        question.classList.remove('ready');
    const question = document.activeElement && document.activeElement.closest('.question');
    if (question)
        readying = setTimeout(() => question.classList.add('ready'), still);
}
for (const name of ['focusin', 'focusout', 'visibilitychange'])
    document.addEventListener(name, () => setTimeout(wait));
window.addEventListener('focus', wait);
document.addEventListener('keydown', (event) => {
    const question = document.activeElement && document.activeElement.closest('.question.ready');
    wait();
    if (!question || event.ctrlKey || event.altKey || event.metaKey || event.repeat)
        return;
    const button = question.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (button)
        button.click();
}, true);
const asked = (element) => [...element.querySelectorAll('input[name=question]')].map((input) => input.value).join('\n');

// --- parts of a page that are loaded again, while somebody looks
async function refresh(part) {
    const reply = await fetch(location.href);
    const text = reply.ok ? await reply.text() : '';
    const begin = text.indexOf(`<div id=${part.id}`), end = text.lastIndexOf('</div>');
    // Somebody may have begun to answer while the reply was on its way.
    if (begin < 0 || isLeaving || (part === questions && questions.contains(document.activeElement)))
        return;
    const before = asked(part);
    const nameOf = (element) => element.getAttribute('href') || element.getAttribute('aria-label') || element.textContent;
    const focused = part.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    part.textContent = '';
    insert(part, text.slice(text.indexOf('>', begin) + 1, end));
    if (asked(part) !== before)
        changed = performance.now();
    for (const element of part.querySelectorAll('a, button, [tabindex]')) {
        if (focused !== null && nameOf(element) === focused) {
            element.focus({preventScroll: true});
            break;
        }
    }
}

// Open questions: somebody who is about to answer one is not disturbed.
const questions = document.querySelector('[data-refresh]');
if (questions) {
    const seconds = 4;
    setInterval(() => {
        if (!document.hidden && !questions.contains(document.activeElement))
            refresh(questions);
    }, seconds * 1000);
}

// How many questions wait, on every page and in its title.
const badge = document.getElementById('waiting');
if (badge) {
    const pause = 5000, title = document.title.replace(/^\(\d+\) /, '');
    setInterval(async () => {
        const reply = await fetch('/waiting').catch(() => null);
        const count = reply && reply.ok ? Number(await reply.text()) : 0;
        badge.hidden = !count;
        badge.textContent = count ? `${count}` : '';
        if (count)
            insert(badge, '<span class=off> waiting</span>');
        document.title = (count ? `(${count}) ` : '') + title;
    }, pause);
}

// The list of sessions: the server says when something changed. A hidden page does not listen.
const list = document.querySelector('[data-live]');
if (list) {
    const pause = 1000, ages = 30000;
    let news = null;
    const listen = () => {
        if (news || document.hidden)
            return;
        news = new EventSource(list.dataset.live);
        news.addEventListener('ready', () => refresh(list));
        news.addEventListener('changed', () => {
            leave();
            setTimeout(listen, pause);
        });
        news.addEventListener('error', leave);
    };
    const leave = () => {
        if (news)
            news.close();
        news = null;
    };
    document.addEventListener('visibilitychange', () => (document.hidden ? leave() : listen()));
    setInterval(() => (document.hidden ? null : news ? refresh(list) : listen()), ages);
    listen();
}
