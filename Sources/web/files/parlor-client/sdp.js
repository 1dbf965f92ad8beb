// The remote descriptions of both connections. The server sends no SDP: it gives numbers, and the client writes them down
// (RFC 8829, RFC 8839, RFC 8843, RFC 8853).

/**
 * What a sender begins with, in kbit/s: Chromium's 300 would take ten seconds to the larger layers of a video. Others do not
 * know the parameter and pass over it.
 */
const START_KBPS = 1000;

/** The extensions that name a sender's layers; on the way to a subscriber there is one layer, which has no name. */
const isLayerName = (uri) => /^urn:ietf:params:rtp-hdrext:sdes:(repaired-)?rtp-stream-id$/.test(uri);

/** What of an own offer matters to its answer: the sections in their order. */
export function readSections(sdp) {
    const sections = [];
    for (const line of sdp.split(/\r?\n/)) {
        if (line.startsWith('m=')) {
            const [kind, port, protocol, ...payloadTypes] = line.slice(2).split(' ');
            sections.push({
                kind, port, protocol, payloadTypes, mid: '', direction: 'sendrecv', extensions: new Map(), rids: [],
                layers: undefined, isBundleOnly: false, setup: undefined,
            });
            continue;
        }
        const section = sections.at(-1);
        if (!section || !line.startsWith('a=')) continue;
        const attribute = line.slice(2);
        if (/^(sendrecv|sendonly|recvonly|inactive)$/.test(attribute)) section.direction = attribute;
        else if (attribute === 'bundle-only') section.isBundleOnly = true;
        else if (attribute.startsWith('mid:')) section.mid = attribute.slice(4);
        else if (attribute.startsWith('extmap:')) {
            const [number, uri] = attribute.slice(7).split(' ');
            const [id, direction] = number.split('/');
            section.extensions.set(uri, { id: Number(id), direction });
        } else if (attribute.startsWith('rid:')) {
            const [id, direction] = attribute.slice(4).split(' ');
            if (direction === 'send') section.rids.push(id);
        } else if (attribute.startsWith('simulcast:send ')) section.layers = attribute.slice('simulcast:send '.length).trim();
    }
    for (const section of sections) section.isRejected = section.port === '0' && !section.isBundleOnly;
    return sections;
}

/**
 * The answer to an own publish offer.
 *
 * capabilities: `rtpcaps` of auth-res. server: iceParameters, iceCandidates and dtlsParameters of pubpc-res.
 * redundantAudio: RED (RFC 2198) first, where the server takes it.
 */
export function writeAnswer(offer, capabilities, server, { version, redundantAudio = false }) {
    const sections = readSections(offer);
    const lines = head(version, sections.filter((section) => !section.isRejected).map((section) => section.mid), server);
    for (const section of sections) {
        if (section.isRejected) {
            lines.push(`m=${section.kind} 0 ${section.protocol} ${section.payloadTypes[0] ?? 0}`, 'c=IN IP4 0.0.0.0',
                `a=mid:${section.mid}`, 'a=inactive');
            continue;
        }
        const sends = section.direction === 'sendonly' || section.direction === 'sendrecv';
        const extensions = capabilities.headerExtensions.filter((extension) =>
            extension.kind === section.kind && section.extensions.get(extension.uri)?.id === extension.sendId);
        const id = ({ sendId, uri }) => (section.extensions.get(uri).direction === 'sendonly' ? `${sendId}/recvonly` : sendId);
        const codecs = codecsOf(section.kind, capabilities, redundantAudio);
        lines.push(
            ...codecLines(section.kind, section.protocol, codecs, 'send'),
            ...extensions.map((extension) => `a=extmap:${id(extension)} ${extension.uri}`),
            // The server begins DTLS here; it has the certificate's fingerprint from the offer.
            'a=setup:active', `a=mid:${section.mid}`, sends ? 'a=recvonly' : 'a=inactive',
            ...transportLines(server));
        if (section.layers !== undefined && section.rids.length > 0) {
            lines.push(...section.rids.map((rid) => `a=rid:${rid} recv`), `a=simulcast:recv ${section.layers}`);
        }
    }
    return text(lines);
}

/** The subscribing connection's sections, from which its offers are written. They stay for the life of the connection. */
export class SubscribeOffer {
    #sections = new Map();
    #version = 0;

    constructor(capabilities, server) {
        this.capabilities = capabilities;
        this.server = server;
    }

    /** Adds a track, or switches its section on again. parameters: `rtpparams` of the answer. */
    set(track, parameters) {
        // The connection's sections keep their order; one of the same mid is used again, which the server allows by kind.
        this.#sections.set(track.mid, { kind: track.kind, parameters });
    }

    /** Switches a section off. */
    remove(mid) {
        const section = this.#sections.get(mid);
        if (section) section.parameters = undefined;
    }

    get isEmpty() { return this.#sections.size === 0; }

    /** The offer, with a version counted up. */
    write() {
        this.#version += 1;
        const lines = head(this.#version, [...this.#sections.keys()], this.server);
        for (const [mid, { kind, parameters }] of this.#sections) {
            const codecs = parameters?.codec ? [parameters.codec] : codecsOf(kind, this.capabilities, false);
            lines.push(...codecLines(kind, 'UDP/TLS/RTP/SAVPF', codecs, 'recv'));
            if (parameters) {
                // Sources are signalled by SSRC: the server sends no mid and no rid.
                lines.push(...this.capabilities.headerExtensions
                    .filter(({ kind: of, uri }) => of === kind && !isLayerName(uri))
                    .map((extension) => `a=extmap:${extension.recvId} ${extension.uri}`));
            }
            lines.push(
                `a=setup:${this.server.dtlsParameters.role === 'client' ? 'active' : 'actpass'}`, `a=mid:${mid}`,
                ...transportLines(this.server), parameters ? 'a=sendonly' : 'a=inactive');
            if (parameters) lines.push(...sourceLines(mid, kind, parameters));
        }
        return text(lines);
    }
}

function sourceLines(mid, kind, { encodings, rtcp, msid }) {
    const { ssrc, rtx } = encodings[0];
    const cname = rtcp?.cname ?? 'parlor';
    const lines = [`a=msid:${msid ?? '-'} ${kind}-${mid}`, `a=ssrc:${ssrc} cname:${cname}`];
    if (rtx?.ssrc) lines.push(`a=ssrc:${rtx.ssrc} cname:${cname}`, `a=ssrc-group:FID ${ssrc} ${rtx.ssrc}`);
    return lines;
}

/** By position the first audio and the first video codec are the room's; others of the kind go with it (RED). */
function codecsOf(kind, capabilities, redundantFirst) {
    const codecs = capabilities.codecs.filter((codec) => codec.kind === kind);
    const isRed = (codec) => codec.name.toLowerCase() === 'red';
    return redundantFirst ? [...codecs.filter(isRed), ...codecs.filter((codec) => !isRed(codec))] : codecs;
}

function codecLines(kind, protocol, codecs, direction) {
    const number = (codec) => codec[`${direction}PayloadType`];
    const repair = (codec) => codec[direction === 'send' ? 'sendRtxPayloadType' : 'recvRtxPayloadType'];
    const primary = codecs.find((codec) => codec.name.toLowerCase() !== 'red');
    const types = codecs.flatMap((codec) => [number(codec), ...(repair(codec) ? [repair(codec)] : [])]);
    const lines = [`m=${kind} 9 ${protocol} ${types.join(' ')}`, 'c=IN IP4 0.0.0.0'];
    for (const codec of codecs) {
        const type = number(codec);
        const channels = (codec.channels ?? 1) > 1 ? `/${codec.channels}` : '';
        lines.push(`a=rtpmap:${type} ${codec.name}/${codec.clockRate}${channels}`);
        const parameters = Object.entries(codec.parameters ?? {}).map(([name, value]) => `${name}=${value}`);
        if (direction === 'send' && kind === 'video') parameters.push(`x-google-start-bitrate=${START_KBPS}`);
        // RFC 2198: the formats that a RED packet holds.
        if (codec.name.toLowerCase() === 'red' && primary) lines.push(`a=fmtp:${type} ${number(primary)}/${number(primary)}`);
        else if (parameters.length) lines.push(`a=fmtp:${type} ${parameters.join(';')}`);
        for (const { type: name, parameter } of codec.rtcpFeedback ?? []) {
            lines.push(`a=rtcp-fb:${type} ${name}${parameter ? ` ${parameter}` : ''}`);
        }
        if (repair(codec)) lines.push(`a=rtpmap:${repair(codec)} rtx/${codec.clockRate}`, `a=fmtp:${repair(codec)} apt=${type}`);
    }
    return lines;
}

function head(version, mids, { iceParameters, dtlsParameters }) {
    const { algorithm, value } = dtlsParameters.fingerprints[0];
    return [
        'v=0', `o=parlor 7 ${version} IN IP4 0.0.0.0`, 's=-', 't=0 0',
        ...(iceParameters.iceLite ? ['a=ice-lite'] : []), `a=fingerprint:${algorithm} ${value}`,
        ...(mids.length ? [`a=group:BUNDLE ${mids.join(' ')}`] : []), 'a=msid-semantic: WMS *',
    ];
}

function transportLines({ iceParameters, iceCandidates }) {
    return [
        `a=ice-ufrag:${iceParameters.usernameFragment}`, `a=ice-pwd:${iceParameters.password}`,
        ...iceCandidates.map((candidate) =>
            `a=candidate:${candidate.foundation} 1 ${candidate.protocol} ${candidate.priority} ${candidate.ip} `
            + `${candidate.port} typ ${candidate.type}${candidate.tcpType ? ` tcptype ${candidate.tcpType}` : ''}`),
        'a=end-of-candidates', 'a=rtcp-mux', 'a=rtcp-rsize',
    ];
}

function text(lines) { return `${lines.join('\r\n')}\r\n`; }

/** What this browser can send and receive, as the server wants to see it at a join: an offer that nobody answers. */
export async function capabilitiesSDP() {
    const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
    try {
        // The first two say what is sent and received alike, with layers, for some browsers name the extensions for them only
        // then; the others show the wider list of what is received only.
        connection.addTransceiver('audio', { direction: 'sendrecv' });
        connection.addTransceiver('video', { direction: 'sendrecv', sendEncodings: [{ rid: 'hi' }, { rid: 'lo' }] });
        connection.addTransceiver('audio', { direction: 'recvonly' });
        connection.addTransceiver('video', { direction: 'recvonly' });
        return (await connection.createOffer()).sdp;
    } finally { connection.close(); }
}
