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
document.addEventListener('submit', () => {
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
    for (const row of document.querySelectorAll('#rows > tr, #items .item'))
        row.hidden = text !== '' && !row.textContent.toLowerCase().includes(text);
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
document.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-more]');
    if (!link)
        return;
    event.preventDefault();
    const place = link.closest('.more');
    load(place.parentElement, link.getAttribute('href')).then(() => place.remove());
});

// --- keys of an open question
document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest('input, select, textarea'))
        return;
    const question = document.querySelector('.question');
    const button = question && question.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (button)
        button.click();
});

// --- parts of a page that are loaded again, while somebody looks
async function refresh(part) {
    const reply = await fetch(location.href);
    const text = reply.ok ? await reply.text() : '';
    const begin = text.indexOf(`<div id=${part.id}`), end = text.lastIndexOf('</div>');
    if (begin < 0 || isLeaving)
        return;
    const nameOf = (element) => element.getAttribute('href') || element.getAttribute('aria-label') || element.textContent;
    const focused = part.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    part.textContent = '';
    insert(part, text.slice(text.indexOf('>', begin) + 1, end));
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
