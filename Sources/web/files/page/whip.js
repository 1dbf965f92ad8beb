// The smallest publisher by WHIP (RFC 9725). The media needs no server besides the node: it is ICE-lite and has its addresses
// in the answer, so nothing trickles.
import { exchange, gathered, openToken } from './whip-exchange.js';

const find = (id) => document.getElementById(id);
let connection, resource;

find('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    await stop();
    try {
        const stream = await source();
        find('video').srcObject = stream;
        connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
        connection.onconnectionstatechange = () => { find('state').textContent = connection.connectionState; };
        for (const track of stream.getTracks()) connection.addTransceiver(track, { direction: 'sendonly', streams: [stream] });
        await connection.setLocalDescription(await connection.createOffer());
        await gathered(connection);
        const answer = await exchange('/whip', find('token').value.trim(), connection.localDescription.sdp);
        resource = answer.resource;
        await connection.setRemoteDescription({ type: 'answer', sdp: answer.sdp });
        find('stop').disabled = false;
    } catch (error) {
        find('state').textContent = error.message;
        await stop();
    }
});
find('stop').addEventListener('click', stop);
find('token').value = new URLSearchParams(location.search).get('token') ?? await openToken('whip');

/** Camera and microphone; with ?source=synthetic the drawn clock. */
async function source() {
    if (new URLSearchParams(location.search).get('source') !== 'synthetic') {
        return navigator.mediaDevices.getUserMedia({ audio: true, video: { width: 1280, height: 720 } });
    }
    const { SyntheticSource } = await import('./synthetic.js');
    const synthetic = new SyntheticSource('WHIP');
    await synthetic.resume();
    return new MediaStream([synthetic.video, synthetic.audio]);
}

async function stop() {
    find('stop').disabled = true;
    const headers = { Authorization: `Bearer ${find('token').value.trim()}` };
    // A node that is not reached notices the end by itself.
    if (resource) await fetch(resource, { method: 'DELETE', headers }).catch(() => {});
    resource = undefined;
    connection?.close();
    for (const track of find('video').srcObject?.getTracks() ?? []) track.stop();
}
