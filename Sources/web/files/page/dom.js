/** Makes an element: attributes by name, listeners by `on…`, properties that are no attributes by `.name`. */
export function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === false) continue;
        if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (name.startsWith('.')) element[name.slice(1)] = value;
        else element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.filter((child) => child !== undefined && child !== null));
    return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Line drawings on a field of 24 by 24. */
const SHAPES = {
    microphone: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3ZM5.5 11a6.5 6.5 0 0 0 13 0M12 17.5V21M8.5 21h7',
    microphoneOff: 'M9 9v2a3 3 0 0 0 4.6 2.5M15 10V6a3 3 0 0 0-5.7-1.3M5.5 11a6.5 6.5 0 0 0 9.8 5.6M18.1 13a6.5 6.5 0 0 0 .4-2M12 17.5V21M8.5 21h7M4 4l16 16',
    camera: 'M4.5 7h9A1.5 1.5 0 0 1 15 8.5v7A1.5 1.5 0 0 1 13.5 17h-9A1.5 1.5 0 0 1 3 15.5v-7A1.5 1.5 0 0 1 4.5 7ZM15 10.5l6-3v9l-6-3',
    cameraOff: 'M8.5 7h5A1.5 1.5 0 0 1 15 8.5v2l6-3v9l-3.5-1.75M13.8 17H4.5A1.5 1.5 0 0 1 3 15.5v-7c0-.7.5-1.3 1.1-1.45M4 4l16 16',
    screen: 'M4.5 5h15A1.5 1.5 0 0 1 21 6.5v9a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 15.5v-9A1.5 1.5 0 0 1 4.5 5ZM8.5 20.5h7M12 13.5V8.5M9.5 10.7 12 8.3l2.5 2.4',
    chat: 'M5 5h14a1.5 1.5 0 0 1 1.5 1.5v8.5a1.5 1.5 0 0 1-1.5 1.5h-7.5L7 20v-3.5H5A1.5 1.5 0 0 1 3.5 15V6.5A1.5 1.5 0 0 1 5 5ZM8 9.5h8M8 12.5h5',
    people: 'M9 11a3.3 3.3 0 1 0 0-6.6A3.3 3.3 0 0 0 9 11ZM3 19.5c0-3.3 2.6-5.5 6-5.5s6 2.2 6 5.5M16 10.8a2.8 2.8 0 1 0-1.3-5.3M17 14.2c2.4.5 4 2.4 4 5.3',
    details: 'M4 19.5h16M6.5 16v-4M11 16V6M15.5 16V9.5M20 16v-2.5',
    settings: 'M4 7h9M17 7h3M15 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM4 17h3M11 17h9M9 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
    help: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9.3 9.5a2.8 2.8 0 0 1 5.4 1c0 1.9-2.7 2.2-2.7 4M12 17.3v.1',
    leave: 'M3.5 14.5c-.3-1.8.2-3.3 1.4-4.1C6.8 9.1 9.3 8.5 12 8.5s5.2.6 7.1 1.9c1.2.8 1.7 2.3 1.4 4.1-.1.6-.7 1-1.3.9l-2.7-.6a1.2 1.2 0 0 1-.9-1.2v-1.7a12 12 0 0 0-7.2 0v1.7c0 .6-.4 1.1-.9 1.2l-2.7.6c-.6.1-1.2-.3-1.3-.9Z',
    close: 'M6 6l12 12M18 6 6 18',
    menu: 'M6 12v.01M12 12v.01M18 12v.01',
    pin: 'M4 9.5V5.5A1.5 1.5 0 0 1 5.5 4h4M14.5 4h4A1.5 1.5 0 0 1 20 5.5v4M20 14.5v4a1.5 1.5 0 0 1-1.5 1.5h-4M9.5 20h-4A1.5 1.5 0 0 1 4 18.5v-4',
    remove: 'M9 11a3.3 3.3 0 1 0 0-6.6A3.3 3.3 0 0 0 9 11ZM3 19.5c0-3.3 2.6-5.5 6-5.5s6 2.2 6 5.5M16.5 10.5h5',
    send: 'M4 12 20 4.5 16 20l-4.5-6.5L4 12ZM11.5 13.5 20 4.5',
    link: 'M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1',
    check: 'M5 12.5 10 17.5 19.5 7',
};

export function icon(name) {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('viewBox', '0 0 24 24');
    svg.setAttribute('aria-hidden', 'true');
    svg.classList.add('icon');
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', SHAPES[name]);
    svg.append(path);
    svg.dataset.icon = name;
    return svg;
}

/** Changes a drawing in place. */
export function setIcon(svg, name) {
    if (svg.dataset.icon === name) return;
    svg.dataset.icon = name;
    svg.firstChild.setAttribute('d', SHAPES[name]);
}

export const find = (id) => document.getElementById(id);
