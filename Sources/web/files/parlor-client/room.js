import { RemoteTrack, RemoteUser } from './tracks.js';

/**
 * The others and their tracks, as the server's messages show them. Each function returns what the app is to be told:
 * a list of [name, ...arguments].
 */
export class RoomMirror {
    users = new Map();
    tracks = new Map();

    constructor(ownID) { this.ownID = ownID; }

    /**
     * Takes the lists of an auth-res: all that is there at a first join; after a loss, what was missed. A track with another
     * versionid was published anew.
     */
    synchronize(answer) {
        const players = (answer.players ?? []).filter((player) => player.playerid !== this.ownID);
        const infos = (answer.tracks ?? []).filter((info) => info.playerid !== this.ownID);
        const newest = new Map(infos.map((info) => [info.trackid, info]));
        const events = [];
        const gone = [...this.tracks.values()].filter((track) => {
            const info = newest.get(track.trackID);
            return !info || info.playerid !== track.userID || (info.versionid ?? 1) !== track.versionID;
        });
        events.push(...this.#remove(gone.map((track) => track.trackID)));
        const present = new Set(players.map((player) => player.playerid));
        for (const id of [...this.users.keys()]) if (!present.has(id)) events.push(...this.#left(id));
        for (const player of players) {
            const user = this.users.get(player.playerid);
            if (user?.userData !== (player.playerdata ?? '')) {
                events.push(...this.#joined(player));
            } else if (user.isReconnecting) {
                // Whether it is cut off now, auth-res does not say: the news comes by itself.
                user.isReconnecting = false;
                events.push(['userReconnected', user]);
            }
        }
        events.push(...this.#add(infos.filter((info) => !this.tracks.has(info.trackid))));
        events.push(...this.#mute(infos));
        return events;
    }

    /** Takes a notification. What does not fit (an unknown user or track, one's own) changes nothing. */
    apply(type, body) {
        switch (type) {
        case 'on-player-in': return this.#joined(body);
        case 'on-player-out': return this.#left(body.playerid);
        case 'on-player-reconnect': return this.#reconnecting(body.playerid, true, 'userReconnecting');
        case 'on-player-reconnect-in': return this.#reconnecting(body.playerid, false, 'userReconnected');
        case 'on-add-tracks': return this.#add(body.tracks ?? []);
        case 'on-remove-tracks': return this.#remove((body.tracks ?? []).map((track) => track.trackid));
        case 'mute-tracks': return this.#mute(body.tracks ?? []);
        default: return [];
        }
    }

    #joined(player) {
        if (player.playerid === this.ownID) return [];
        // A newer join of the same user, whose end was not heard.
        const events = this.users.has(player.playerid) ? this.#left(player.playerid) : [];
        const user = new RemoteUser(player.playerid, player.playerdata ?? '');
        this.users.set(user.userID, user);
        return [...events, ['userJoined', user]];
    }

    #left(id) {
        const user = this.users.get(id);
        if (!user) return [];
        const events = this.#remove([...user.tracks.keys()]);
        this.users.delete(id);
        return [...events, ['userLeft', user]];
    }

    #reconnecting(id, value, event) {
        const user = this.users.get(id);
        if (!user) return [];
        user.isReconnecting = value;
        return [[event, user]];
    }

    #add(infos) {
        const added = new Map();
        for (const info of infos) {
            const user = this.users.get(info.playerid);
            if (!user || this.tracks.has(info.trackid)) continue;
            const track = new RemoteTrack(info);
            user.tracks.set(track.trackID, track);
            this.tracks.set(track.trackID, track);
            added.set(user, [...(added.get(user) ?? []), track]);
        }
        return [...added].map(([user, tracks]) => ['tracksPublished', tracks, user]);
    }

    #remove(ids) {
        const removed = new Map();
        for (const id of ids) {
            const track = this.tracks.get(id);
            const user = this.users.get(track?.userID);
            if (!track || !user) continue;
            this.tracks.delete(id);
            user.tracks.delete(id);
            removed.set(user, [...(removed.get(user) ?? []), track]);
        }
        return [...removed].map(([user, tracks]) => ['tracksUnpublished', tracks, user]);
    }

    #mute(infos) {
        return infos.flatMap((info) => {
            const track = this.tracks.get(info.trackid);
            const isMuted = Boolean(info.muted);
            if (!track || track.isMuted === isMuted) return [];
            track.isMuted = isMuted;
            return [['muteStateChanged', track, this.users.get(track.userID)]];
        });
    }

    get subscribed() { return [...this.tracks.values()].filter((track) => track.isSubscribed); }

    /** Tracks for which no subscription was tried, which it then was; in the order of arrival. */
    takeUntried(limit) {
        const untried = [...this.tracks.values()].filter((track) => !track.isTried).slice(0, limit);
        for (const track of untried) track.isTried = true;
        return untried;
    }
}
