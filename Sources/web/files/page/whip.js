// The smallest publisher by WHIP (RFC 9725). The media needs no server besides the node: it is ICE-lite and has its addresses
// in the answer, so nothing trickles.
import { Leg, fillToken, find, wishes } from './leg.js';

/** Camera and microphone; with ?source=synthetic the drawn clock. */
async function source() {
    if (wishes.get('source') !== 'synthetic') {
        if (!navigator.mediaDevices) throw { key: 'device.insecure' };
        return navigator.mediaDevices.getUserMedia({ audio: true, video: { width: 1280, height: 720 } });
    }
    const { SyntheticSource } = await import('./synthetic.js');
    const synthetic = new SyntheticSource('WHIP');
    await synthetic.resume();
    return new MediaStream([synthetic.video, synthetic.audio]);
}

async function publish(connection) {
    const stream = await source();
    find('video').srcObject = stream;
    for (const track of stream.getTracks()) connection.addTransceiver(track, { direction: 'sendonly', streams: [stream] });
    return '/whip';
}

new Leg(publish, () => {
    for (const track of find('video').srcObject?.getTracks() ?? []) track.stop();
});
await fillToken('whip');
