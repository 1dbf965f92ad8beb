// The smallest player by WHEP: the browser offers to receive, the node answers.
import { Leg, fillToken, find, wishes } from './leg.js';

async function watch(connection) {
    const stream = new MediaStream();
    connection.ontrack = ({ track }) => stream.addTrack(track);
    for (const kind of ['audio', 'video']) connection.addTransceiver(kind, { direction: 'recvonly' });
    find('video').srcObject = stream;
    const user = find('user').value.trim();
    return user ? `/whep?user=${encodeURIComponent(user)}` : '/whep';
}

new Leg(watch, () => { find('video').srcObject = null; });
find('user').value = wishes.get('user') ?? '';
await fillToken('whep');
