/**
 * Parlor's client for browsers: joins rooms of a node, publishes and subscribes, over the signalling of QNRTC.
 *
 *     import { LocalTrack, RTCClient } from '/parlor-client.js';
 *
 * docs/web.md is the manual, parlor-client.d.ts the types.
 */
export { TokenClaims } from './parlor-client/access.js';
export { RTCClient } from './parlor-client/client.js';
export { ErrorCode, RTCError } from './parlor-client/errors.js';
export { JoinTimeline } from './parlor-client/timeline.js';
export { LocalTrack, PROFILES, RemoteTrack, RemoteUser } from './parlor-client/tracks.js';
export { version } from './parlor-client/version.js';
