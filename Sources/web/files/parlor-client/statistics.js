/** Reads getStats of both connections, and makes rates out of the counters of two calls. */
export class StatisticsReader {
    #app = new Samples();
    #own = new Samples();

    /** By track id: own tracks and subscribed ones. */
    async all(publisher, room, subscriber) {
        const result = new Map();
        for (const entry of await this.#up(publisher, this.#app)) result.set(entry.trackID, entry);
        for (const entry of await this.#down(room, subscriber)) result.set(entry.trackID, entry);
        return result;
    }

    /** Of own tracks, apart from what the app asks for. */
    uplink(publisher) { return this.#up(publisher, this.#own); }

    async #up({ transport, tracks }, samples) {
        if (!transport || transport.state === 'closed') return [];
        const report = await transport.connection.getStats();
        const byMid = groupByMid(report, 'outbound-rtp');
        return tracks.filter((track) => track.published).map((track) => {
            const streams = byMid.get(track.published.transceiver.mid) ?? [];
            const layers = streams.map((stream) => this.#layer(stream, report, samples)).sort((a, b) => (b.width ?? 0) - (a.width ?? 0));
            const remote = streams.map((stream) => report.get(stream.remoteId)).filter(Boolean);
            const active = layers.find((layer) => layer.framesPerSecond > 0) ?? layers[0] ?? {};
            return {
                trackID: track.trackID, kind: track.kind, direction: 'up', codec: codecName(report, streams[0]?.codecId),
                bitrate: sum(layers.map((layer) => layer.bitrate)), padding: sum(layers.map((layer) => layer.padding)),
                width: active.width, height: active.height, framesPerSecond: active.framesPerSecond,
                packetLoss: largest(remote.map((each) => each.fractionLost)),
                roundTripTime: largest(remote.map((each) => each.roundTripTime)) ?? path(report).time,
                protocol: path(report).protocol,
                limitation: active.limitation, layers: track.kind === 'video' ? layers : [],
            };
        });
    }

    /**
     * Chromium counts the padding with which it measures the path, most of it on the smallest layer, among the bytes sent, and as no
     * retransmission. What is beyond the rate that its encoder aims at is taken for that.
     */
    #layer(stream, report, samples) {
        const sent = samples.rate(stream, 'bytesSent') * 8;
        const again = Math.min(samples.rate(stream, 'retransmittedBytesSent') * 8, sent);
        const most = stream.kind === 'video' ? samples.most(stream, 'targetBitrate') : Infinity;
        const bitrate = Math.min(sent - again, most);
        return {
            rid: stream.rid, isActive: stream.active !== false, width: stream.frameWidth, height: stream.frameHeight,
            framesPerSecond: stream.framesPerSecond ?? 0, bitrate, padding: sent - bitrate,
            limitation: stream.qualityLimitationReason,
        };
    }

    async #down(room, { transport }) {
        if (!transport || transport.state === 'closed') return [];
        const report = await transport.connection.getStats();
        const byMid = groupByMid(report, 'inbound-rtp');
        const { time, protocol } = path(report);
        return room.subscribed.map((track) => {
            const stream = byMid.get(track.mid)?.at(-1) ?? {};
            return {
                trackID: track.trackID, kind: track.kind, direction: 'down', codec: codecName(report, stream.codecId),
                bitrate: this.#app.rate(stream, 'bytesReceived') * 8, width: stream.frameWidth, height: stream.frameHeight,
                framesPerSecond: track.kind === 'video' ? stream.framesPerSecond ?? 0 : undefined,
                packetLoss: this.#app.share(stream, 'packetsLost', 'packetsReceived'), roundTripTime: time, protocol,
                jitter: stream.jitter, audioLevel: stream.audioLevel, framesDecoded: stream.framesDecoded,
                packetsReceived: stream.packetsReceived, freezeCount: stream.freezeCount, profile: track.profile, layers: [],
            };
        });
    }
}

/** Counters of the call before, by stream. */
class Samples {
    #last = new Map();

    /** Per second since the call before; 0 at the first. */
    rate(stream, counter) {
        const before = this.#keep(stream, counter);
        if (!before || stream.timestamp <= before.timestamp) return 0;
        return Math.max(stream[counter] - before.value, 0) / (stream.timestamp - before.timestamp) * 1000;
    }

    /** The larger of a figure's values now and at the call before; without any, no limit. */
    most(stream, figure) {
        const before = this.#keep(stream, figure);
        return stream[figure] === undefined ? Infinity : Math.max(stream[figure], before?.value ?? 0);
    }

    /** Of two counters that add up, the first one's share since the call before. */
    share(stream, part, rest) {
        const parts = this.#keep(stream, part);
        const others = this.#keep(stream, rest);
        if (!parts || !others) return undefined;
        const lost = Math.max(stream[part] - parts.value, 0);
        const all = lost + Math.max(stream[rest] - others.value, 0);
        return all > 0 ? lost / all : undefined;
    }

    #keep(stream, counter) {
        if (stream.id === undefined || stream[counter] === undefined) return undefined;
        const key = `${stream.id} ${stream.ssrc} ${counter}`;
        const before = this.#last.get(key);
        this.#last.delete(key);
        this.#last.set(key, { value: stream[counter], timestamp: stream.timestamp });
        // Streams come and go in a long call; the oldest are forgotten.
        if (this.#last.size > 4096) this.#last.delete(this.#last.keys().next().value);
        return before;
    }
}

function groupByMid(report, type) {
    const groups = new Map();
    report.forEach((entry) => {
        if (entry.type === type) groups.set(entry.mid, [...(groups.get(entry.mid) ?? []), entry]);
    });
    return groups;
}

function codecName(report, id) { return report.get(id)?.mimeType?.split('/')[1]; }

/** The path in use: its round trip in seconds, and its protocol. */
function path(report) {
    let pair;
    report.forEach((entry) => { if (entry.type === 'transport') pair = report.get(entry.selectedCandidatePairId) ?? pair; });
    // Firefox has no transports, but says which pair it selected.
    if (!pair) report.forEach((entry) => { if (entry.type === 'candidate-pair' && entry.selected) pair = entry; });
    return { time: pair?.currentRoundTripTime, protocol: report.get(pair?.localCandidateId)?.protocol };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const largest = (values) => values.filter((value) => value !== undefined).reduce((most, value) => Math.max(most ?? 0, value), undefined);
