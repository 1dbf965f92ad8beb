import { text } from './texts.js';

const bits = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} Mbit/s` : `${Math.round(value / 1000)} kbit/s`);
const percent = (value) => (value === undefined ? '–' : `${(value * 100).toFixed(1)} %`);
const milliseconds = (value) => (value === undefined ? '–' : `${Math.round(value * 1000)} ms`);
const size = ({ width, height, framesPerSecond }) => (width ? `${width} × ${height}, ${Math.round(framesPerSecond ?? 0)} fps` : '–');

/** Lines of [key, value] for a tile's overlay. figures: { video, audio } of RTCClient.statistics. */
export function describe({ video, audio }, tile) {
    const lines = [];
    const all = [video, audio].filter(Boolean);
    if (all.length === 0) return [['overlay.codec', '–']];
    lines.push(['overlay.codec', all.map((each) => each.codec ?? '–').join(' + ')]);
    if (video) lines.push(['overlay.size', size(video)]);
    lines.push(['overlay.bitrate', all.map((each) => bits(each.bitrate)).join(' + ')]);
    lines.push(['overlay.loss', all.map((each) => percent(each.packetLoss)).join(' + ')]);
    lines.push(['overlay.time', [milliseconds(all[0].roundTripTime), all[0].protocol?.toUpperCase()].filter(Boolean).join(', ')]);
    if (video && tile.isOwn) {
        for (const layer of video.layers.filter((each) => video.layers.length > 1 && each.framesPerSecond > 0)) {
            lines.push(['overlay.layers', `${layer.rid ?? ''} ${size(layer)}, ${bits(layer.bitrate)}`.trim()]);
        }
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
    return `${name(comes)}: ${why}`;
}
