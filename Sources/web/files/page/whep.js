// The smallest player by WHEP: the browser offers to receive, the node answers.
import { exchange, gathered, openToken } from './whip-exchange.js';

const find = (id) => document.getElementById(id);
let connection, resource;

find('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    await stop();
    try {
        connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
        connection.onconnectionstatechange = () => { find('state').textContent = connection.connectionState; };
        const stream = new MediaStream();
        connection.ontrack = ({ track }) => stream.addTrack(track);
        for (const kind of ['audio', 'video']) connection.addTransceiver(kind, { direction: 'recvonly' });
        await connection.setLocalDescription(await connection.createOffer());
        await gathered(connection);
        const user = find('user').value.trim();
        const path = user ? `/whep?user=${encodeURIComponent(user)}` : '/whep';
        const answer = await exchange(path, find('token').value.trim(), connection.localDescription.sdp);
        resource = answer.resource;
        await connection.setRemoteDescription({ type: 'answer', sdp: answer.sdp });
        find('video').srcObject = stream;
        find('stop').disabled = false;
    } catch (error) {
        find('state').textContent = error.message;
        await stop();
    }
});
find('stop').addEventListener('click', stop);
find('user').value = new URLSearchParams(location.search).get('user') ?? '';
find('token').value = new URLSearchParams(location.search).get('token') ?? await openToken('whep');

async function stop() {
    find('stop').disabled = true;
    const headers = { Authorization: `Bearer ${find('token').value.trim()}` };
    // A node that is not reached notices the end by itself.
    if (resource) await fetch(resource, { method: 'DELETE', headers }).catch(() => {});
    resource = undefined;
    connection?.close();
    find('video').srcObject = null;
}
