import { listed, text } from './texts.js';

const bits = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} Mbit/s` : `${Math.round(value / 1000)} kbit/s`);
const percent = (value) => (value === undefined ? '–' : `${(value * 100).toFixed(1)} %`);
const milliseconds = (value) => (value === undefined ? '–' : `${Math.round(value * 1000)} ms`);
const size = ({ width, height, framesPerSecond }) => (width ? listed([`${width} × ${height}`, `${Math.round(framesPerSecond ?? 0)} fps`]) : '–');

/**
 * Lines of [key, value] for a tile's overlay; a line without a key goes on with the one above. figures: { video, audio } of
 * RTCClient.statistics, and hasRates: whether its rates are those of now.
 */
export function describe(figures, tile) {
    const lines = ofTracks(figures, tile);
    if (tile.isOwn && !tile.isScreen) lines.push(...ofJoin(tile.room.client.joinTimeline));
    return lines;
}

function ofTracks({ video, audio, hasRates }, tile) {
    const rate = (value) => (hasRates ? bits(value) : '–');
    const lines = [];
    const all = [video, audio].filter(Boolean);
    if (all.length === 0) return lines;
    lines.push(['overlay.codec', all.map((each) => each.codec ?? '–').join(' + ')]);
    if (video) lines.push(['overlay.size', size(video)]);
    lines.push(['overlay.bitrate', all.map((each) => rate(each.bitrate)).join(' + ')]);
    const padding = all.reduce((total, each) => total + (each.padding ?? 0), 0);
    if (hasRates && padding >= 1000) lines.push(['overlay.padding', bits(padding)]);
    lines.push(['overlay.loss', all.map((each) => percent(each.packetLoss)).join(' + ')]);
    lines.push(['overlay.time', listed([milliseconds(all[0].roundTripTime), all[0].protocol?.toUpperCase()].filter(Boolean))]);
    if (video && tile.isOwn) {
        const sent = video.layers.filter((each) => video.layers.length > 1 && each.framesPerSecond > 0);
        sent.forEach((each, index) => lines.push([index === 0 ? 'overlay.layers' : '', listed([size(each), rate(each.bitrate)])]));
        const why = { cpu: 'overlay.why.cpu', bandwidth: 'overlay.why.bandwidth' }[video.limitation];
        if (why) lines.push(['overlay.layer', text(why)]);
    } else if (video) {
        lines.push(['overlay.layer', layer(tile)]);
    }
    return lines;
}

/** Which layer comes, and why. */
function layer({ track, quality }) {
    if (!track || track.profiles.length < 2) return text('overlay.why.only');
    const name = (profile) => text(`tile.quality.${profile}`);
    const comes = track.profile ?? track.wantedProfile;
    const why = comes !== track.wantedProfile
        ? text('overlay.why.less', { wanted: name(track.wantedProfile) })
        : text(quality === 'auto' ? 'overlay.why.auto' : 'overlay.why.chosen');
    return text('overlay.why', { layer: name(comes), why });
}

/** How long this person's own way into the room took, and to the first picture. */
function ofJoin(timeline) {
    const steps = (names) => listed(names.filter(([name]) => timeline[name] !== undefined)
        .map(([name, key]) => `${text(key)} ${Math.round(timeline[name])}`));
    const joined = steps([['http', 'overlay.step.http'], ['webSocket', 'overlay.step.webSocket'], ['authenticated', 'overlay.step.room']]);
    const media = steps([
        ['ice', 'overlay.step.ice'], ['dtls', 'overlay.step.dtls'], ['firstPacket', 'overlay.step.packet'],
        ['firstFrame', 'overlay.step.frame'],
    ]);
    return [['overlay.join', `${joined} ms`], ...(media ? [['', `${media} ms`]] : [])];
}
