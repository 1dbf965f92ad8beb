"""What people do on the page, in groups. A step is a sentence that holds, or the scenario fails there."""
import asyncio
import json
import os
import re
import time

from browser import Failed
from firefox import Firefox, FirefoxPage
from kit import OF_THE_NETWORK, Person, Relay, eventually, need, room_token, says, source_of

GROUPS = {}


def scenario(group, **options):
    def note(function):
        GROUPS.setdefault(group, []).append((function.__doc__.strip(), function, options))
        return function
    return note


# ---- calls

@scenario("calls")
async def two_and_three(stage, step):
    """two and three people see and hear each other"""
    anna = await stage.person("call", "Anna", "anna")
    bob = await stage.person("call", "Bob", "bob")
    await asyncio.gather(anna.sees(bob), bob.sees(anna))
    step("each sees the other's own frames, in their order")
    await asyncio.gather(anna.hears(bob), bob.hears(anna))
    step("each hears the other's own tone")
    carol = await stage.person("call", "王伟", "carol")
    await asyncio.gather(carol.sees(anna), carol.sees(bob), anna.sees(carol), bob.sees(carol))
    await asyncio.gather(carol.hears(anna), carol.hears(bob), anna.hears(carol))
    step("a third one, who comes later, sees and hears both, and they see and hear it")
    await anna.until("document.querySelector('.tile[data-key=carol] .tile-name').textContent === '王伟'", "its name is shown")
    await anna.until("document.querySelector('#room-count').textContent === '3 people'", "three people are counted")
    await anna.until("document.querySelector('.tile[data-key=bob]').classList.contains('speaking')", "who sounds is highlighted")
    await anna.until("document.querySelector('.tile.own').classList.contains('speaking')", "and so is one's own tile")
    step("names, number, and who speaks")
    await stage.shot(anna, "three")

    # Chat, with words that must not be read as HTML.
    await anna.press("c")
    await anna.until("document.activeElement === document.querySelector('.chat-form input')", "the chat has the focus")
    words = "Hello <b>Bob</b> & 王伟 = \"x\""
    await anna.type(words)
    await anna.press("Enter")
    for other in (bob, carol):
        await other.until("document.querySelector('#toggle-chat').dataset.count === '1'", "a message is counted")
        await other.click("#toggle-chat")
        await other.until(f"document.querySelector('.message-text').textContent === {json.dumps(words)}", "the words are those")
        need(await other.js("document.querySelector('.message-head b').textContent") == "Anna", "the sender is named")
    await carol.type("你好")
    await carol.press("Enter")
    await anna.until("[...document.querySelectorAll('.message-text')].at(-1).textContent === '你好'", "an answer comes")
    step("chat in both directions")
    await carol.press("Escape")
    await carol.until("document.querySelector('#panel').hidden", "Escape closes the chat")

    # Mute.
    await bob.click("#toggle-microphone")
    await bob.until("!document.querySelector('.tile.own').classList.contains('speaking')", "who is muted is not highlighted")
    await anna.until("document.querySelector('.tile[data-key=bob] figcaption .icon').classList.contains('off')", "a muted microphone is shown")
    await asyncio.gather(anna.hears_nothing_of(bob), carol.hears(anna))
    step("a muted microphone is shown, and silent; the others are heard on")
    await bob.press("Escape")
    await bob.press("v")
    await asyncio.gather(anna.has_picture(bob, False), carol.has_picture(bob, False))
    step("a camera that is off shows no picture")
    await bob.press("v")
    await bob.press("m")
    await asyncio.gather(anna.has_picture(bob), anna.sees(bob), anna.hears(bob))
    step("both come back")
    late = await stage.person("call", "Dora", "dora", publishes=False)
    await asyncio.gather(late.sees(anna), late.sees(carol))
    step("somebody who only watches sees the others")
    await late.click("#leave")
    await anna.until("!document.querySelector('.tile[data-key=dora]')", "who has left has no tile")
    need(await late.js("document.querySelector('#lobby').hidden") is False, "who has left is in the lobby")
    await carol.close()
    await anna.until("!document.querySelector('.tile[data-key=carol]')", "who closed the tab is gone at once", within=5)
    step("leaving, and closing the tab")


@scenario("calls")
async def screen(stage, step):
    """a screen is shared beside the camera"""
    anna = await stage.person("screen", "Anna", "anna")
    bob = await stage.person("screen", "Bob", "bob")
    # A canvas for the screen: a machine without one has nothing to share.
    await anna.js("""(async () => {
        const { SyntheticSource } = await import('/page/synthetic.js');
        navigator.mediaDevices.getDisplayMedia = async () => {
            globalThis.shared = new SyntheticSource('screen', [640, 360], 5);
            return new MediaStream([shared.video]);
        };
    })()""")
    await anna.click("#toggle-screen")
    key = await bob.until("document.querySelector('.tile.screen')?.dataset.key", "the screen has a tile")
    await bob.until("document.querySelector('.tile.screen').classList.contains('large')", "it is enlarged")
    await bob.js(f"watcher.then((w) => w.record({json.dumps(key)}))")
    await bob.until(f"watcher.then((w) => w.frames({json.dumps(key)}, 0).filter((f) => f.source === {source_of('screen')}).length > 3)",
                    "the screen's own frames come")
    await bob.sees(anna)
    step("screen and camera are seen, each in its tile")
    await stage.shot(bob, "screen")
    await anna.press("s")
    await bob.until("!document.querySelector('.tile.screen')", "the screen's tile is gone")
    await bob.sees(anna)
    step("the camera goes on when the screen is not shared any more")
    # Stopped by the browser's own bar before the server has answered: nothing is to be left of it.
    await anna.js("""(() => {
        const publish = parlor.client.publish.bind(parlor.client);
        parlor.client.publish = (tracks) => {
            const done = publish(tracks);
            shared.video.stop();
            shared.video.dispatchEvent(new Event('ended'));
            globalThis.answered = done.then(() => true, () => true);
            return done;
        };
    })()""")
    await anna.click("#toggle-screen")
    await anna.until("globalThis.answered", "the publication is answered")
    await anna.until("parlor.client.publishedTracks.length === 2", "and taken back")
    await bob.until("parlor.client.remoteUser('anna').videoTracks.length === 1 && !document.querySelector('.tile.screen')", "no tile is left")
    need(await anna.js("document.querySelector('#toggle-screen').getAttribute('aria-pressed')") == "false", "it is off")
    await anna.js("delete parlor.client.publish")
    step("stopped before it was published: nothing is left of it")
    # Stopped while the signalling is lost: taken back after the way back.
    await anna.click("#toggle-screen")
    await bob.until("!!document.querySelector('.tile.screen.pictured')", "the screen is shared again")
    await anna.js("(parlor.client.loseConnection(), parlor.room.toggleScreen(), 1)")
    await anna.until("parlor.client.connectionState === 'reconnected'", "it is back")
    await bob.until("!document.querySelector('.tile.screen')", "and the screen is gone")
    step("stopped while it was cut off: gone when it is back")
    for _ in range(3):
        await anna.click("#toggle-screen")
        await bob.until("!!document.querySelector('.tile.screen.pictured')", "the screen is shared again")
        await anna.click("#toggle-screen")
        await bob.until("!document.querySelector('.tile.screen')", "and again not")
    await bob.sees(anna)
    step("three times again")


async def tab_to(page, selector, most=40):
    """Tab until that has the focus, which must be seen wherever it is on the way; gives how often."""
    for presses in range(1, most):
        await page.press("Tab")
        seen = await page.js("""(() => { const e = document.activeElement; const s = getComputedStyle(e);
            return e === document.body || s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 1 || s.boxShadow !== 'none'; })()""")
        need(seen, f"the focus cannot be seen on {await page.js('document.activeElement.outerHTML.slice(0, 100)')}")
        if await page.js(f"document.activeElement.matches({json.dumps(selector)})"):
            return presses
    need(False, f"{selector} cannot be reached by Tab")


@scenario("calls")
async def mouse(stage, step):
    """what a mouse does besides clicking"""
    await stage.person("mouse", "Bob", "bob")
    await stage.person("mouse", "Carl", "carl")
    page = await stage.person("mouse", "Anna", "anna")
    await page.until("document.querySelectorAll('.tile').length === 3", "all are there")
    button, menu = ".tile[data-key=bob] .tile-menu", ".tile[data-key=bob] .menu:popover-open"
    isOpen = f"!!document.querySelector({json.dumps(menu)})"

    async def opened():
        await page.click(button)
        await page.until(isOpen, "the menu opens")
        at = await page.place(button)
        # A press on the button which is no click, for it ends elsewhere.
        await page.mouse("mousePressed", at)
        await page.mouse("mouseReleased", (at[0], at[1] + 300))
        need(await page.js(f"document.activeElement.matches({json.dumps(button)}) && {isOpen}"), "the button has the focus, the menu is open")

    await opened()
    await page.press("Escape")
    await page.until(f"!({isOpen})", "Escape closes it")
    await opened()
    await page.click("#stage .tile[data-key=carl] video")
    await page.until(f"!({isOpen})", "a click elsewhere closes it")
    await page.click(button)
    await page.click(button, "right")
    await page.press("Tab")
    await page.until(f"!({isOpen})", "and so does Tab")
    step("a menu whose button was pressed, but not clicked, closes")
    order = "JSON.stringify([...document.querySelectorAll('.stage-list .tile')].map((tile) => tile.dataset.key))"
    before = await page.js(order)
    for key in ("bob", "carl"):
        tile = f".tile[data-key={key}]"
        await page.js(f"parlor.room.stage.pin(parlor.room.stage.tiles.get('{key}'))")
        await page.until(f"document.querySelector('{tile}').classList.contains('large')", "it is enlarged")
    await page.click("#toggle-people")
    await page.js("import('/page/notices.js').then(({ notify }) => notify('Somebody has said something rather long. '.repeat(4)))")
    await seen(page, ".tile.large .tile-menu", "under a notice, beside a panel")
    await stage.shot(page, "notice")
    await page.js("parlor.room.stage.pin(parlor.room.stage.pinned)")
    need(await page.js(order) == before, f"each tile is where it was: {before}, {await page.js(order)}")
    step("tiles that were enlarged go back to their places")
    await page.click("#leave")
    await page.until("!document.querySelector('#lobby').hidden", "leaves")


@scenario("calls")
async def keyboard(stage, step):
    """somebody who has no mouse"""
    bob = await stage.person("keys", "Bob", "bob")
    page = await stage.page("/?room=keys&source=synthetic&size=480x270&lang=en", "anna")
    await page.until("document.activeElement.id === 'name'", "what is empty has the focus")
    await page.press("Enter")
    named = "JSON.stringify([document.activeElement.id, document.querySelector('#name').ariaInvalid])"
    await page.until(f"{named} === JSON.stringify(['name', 'true'])", "what is missing is marked, and has the focus", standing=named)
    await page.type("Anna")
    need(await page.js("document.querySelector('#lobby-problem').textContent") == "", "the mark goes with what was missing")
    await page.press("Enter")
    anna = Person(page, "Anna", "")
    await anna.joined()
    anna.user = await page.js("parlor.client.claims.userID")
    await bob.sees(anna)
    step("joins by Enter")
    await tab_to(page, ".tile[data-key=bob]")
    await page.press("Enter")
    await page.until("document.querySelector('.tile[data-key=bob]').classList.contains('large')", "Enter enlarges a picture")
    need(await page.js("document.activeElement.dataset.key") == "bob", "which keeps the focus")
    await page.press("Enter")
    await page.until("!document.querySelector('.tile.large')", "and again back")
    await tab_to(page, ".tile[data-key=bob] .tile-menu", 3)
    await page.press("Enter")
    await page.until("document.activeElement.getAttribute('role') === 'menuitem'", "its menu opens, and has the focus")
    await page.press("Escape")
    need(await page.js("document.activeElement.matches('.tile-menu')"), "Escape closes it, and the focus is where it was")
    step("pictures and their menus")
    await tab_to(page, "#toggle-people")
    await page.press("Enter")
    await page.until("document.querySelector('#panel').contains(document.activeElement)", "a panel opens, and has the focus")
    await page.press("Escape")
    need(await page.js("document.activeElement.id") == "toggle-people", "Escape closes it, and the focus is where it was")
    await page.press("?")
    await page.until("document.querySelector('#dialog').open", "the list of keys opens")
    await page.press("Escape")
    await page.until("!document.querySelector('#dialog').open", "and closes")
    need(await page.js("document.activeElement.id") == "toggle-people", "and the focus is where it was")
    await page.press("m")
    await bob.until(f"document.querySelector('.tile[data-key=\"{anna.user}\"] figcaption .icon').classList.contains('off')", "m mutes")
    await page.press("L", modifiers=8)
    await page.until("!document.querySelector('#lobby').hidden", "Shift L leaves")
    step("panels, the list of keys, mute, leave; the focus is always seen, and comes back")


@scenario("calls")
async def two_rooms(stage, step):
    """two rooms at once, and nothing leaks"""
    people = await asyncio.gather(
        stage.person("north", "Anna", "anna"), stage.person("north", "Bob", "bob"),
        stage.person("south", "Carl", "anna"), stage.person("south", "Dora", "bob"))
    pairs = [(people[0], people[1]), (people[2], people[3])]
    # `sees` refuses frames of anybody else, and both rooms have the same user ids.
    await asyncio.gather(*(one.sees(two, frames=15) for pair in pairs for one, two in (pair, pair[::-1])))
    await asyncio.gather(*(one.hears(two) for pair in pairs for one, two in (pair, pair[::-1])))
    await people[0].js("parlor.client.sendMessage('for the north only')")
    await people[1].until("document.querySelector('#toggle-chat').dataset.count === '1'", "the message came")
    # Behind it, in both directions of the other room: what comes first there is what was said there.
    for one, other in (pairs[1], pairs[1][::-1]):
        await one.js("parlor.client.sendMessage('for the south only')")
        await other.until("document.querySelector('#toggle-chat').dataset.count !== ''", "the message came")
        words = await other.js("[...parlor.room.chat.element.querySelectorAll('.message-text')].map((each) => each.textContent)")
        need(words == ["for the south only"], f"a message went into the other room: {words}")
    for one in people:
        need(await one.js("document.querySelectorAll('.tile').length") == 2, "two tiles in each room")
    step("frames, tones and messages stay in their room, although the user ids are the same")


# ---- layers

@scenario("layers")
async def layers(stage, step):
    """a receiver chooses among the layers of a video"""
    anna = await stage.person("layers", "Anna", "anna", size="960x540")
    bob = await stage.person("layers", "Bob", "bob", publishes=False)
    await bob.until("parlor.client.remoteUser('anna').videoTracks[0]?.profiles.length === 3", "there are three layers")
    # Until the sender has found out what its network carries, the large layer may not come.
    await bob.js("parlor.room.stage.tiles.get('anna').setQuality('high')")
    await bob.sees(anna, width=960, within=60)
    step("high: the large picture")
    await bob.sees(anna, frames=20, width=960)
    usual = await bob.usual_gap(anna, await bob.js("performance.now()"), 1.5)
    await bob.press("d")
    for key, quality, width in (("3", "low", 240), ("2", "medium", 480), ("1", "high", 960)):
        since = await bob.js("performance.now()")
        await bob.js("document.querySelector('.tile[data-key=anna]').focus()")
        await bob.press(key, code=f"Digit{key}")
        await bob.until(f"parlor.client.remoteUser('anna').videoTracks[0].profile === {json.dumps(quality)}",
                        f"{quality} is announced")
        await bob.sees(anna, width=width)
        gap = await bob.longest_gap(anna, since)
        need(gap < 1500 + usual, f"the picture stood still for {gap:.0f} ms while the layer changed to {quality}")
        await bob.until(f"document.querySelector('.tile[data-key=anna] .overlay').textContent.includes('{width} × ')",
                        "the details show the size")
        step(f"{quality}: {width} pixels wide, announced, longest gap {gap:.0f} ms")
    await stage.shot(bob, "details")
    # The menu does the same, by keyboard alone.
    await bob.js("document.querySelector('.tile[data-key=anna] .tile-menu').focus()")
    await bob.press("Enter")
    await bob.until("!!document.querySelector('.tile[data-key=anna] .menu:popover-open')", "the menu opens")
    await stage.shot(bob, "menu")
    for _ in range(5):
        await bob.press("ArrowDown")
    need(await bob.js("document.activeElement.textContent") == "Low", "the arrows move")
    await bob.press("Enter")
    await bob.sees(anna, width=240)
    step("the menu, by arrows and Enter")
    await bob.js("document.querySelector('#notices').replaceChildren()")
    await bob.click("#leave")
    await bob.until("!document.querySelector('#lobby').hidden", "leaves")
    await bob.js("new Promise((resolve) => { setTimeout(resolve, 500); })")
    need(await bob.js("document.querySelector('#notices').textContent") == "", "nothing is asked for, and so refused, after leaving")
    step("leaving says nothing")


@scenario("layers", arguments=["--use-fake-device-for-media-stream=device-count=3"])
async def devices(stage, step):
    """camera and microphone, chosen before and during the call"""
    bob = await stage.person("devices", "Bob", "bob", publishes=False)
    page = await stage.page("/?room=devices&name=Anna&user=anna&source=devices&size=640x480&fps=10&lang=en", "anna")
    await page.until("document.querySelector('#preview').videoWidth === 640", "the preview shows the camera",
                     standing="document.querySelector('#lobby-problem').textContent")
    await page.until("document.querySelector('#camera').options.length === 4", "the cameras are listed")
    await page.until("parseFloat(document.querySelector('#preview-meter i').style.transform.slice(7)) > 0.05", "the microphone's level moves")
    first = await page.js("document.querySelector('#preview').srcObject.getVideoTracks()[0].getSettings().deviceId")
    # The last one: Chromium's second fake camera measures depth, which nobody encodes.
    await page.js("(() => { const list = document.querySelector('#camera'); list.value = [...list.options].at(-1).value;"
                  " list.dispatchEvent(new Event('change')); })()")
    await page.until("document.querySelector('#preview').srcObject?.getVideoTracks()[0]?.getSettings().deviceId"
                     f" !== {json.dumps(first)} && document.querySelector('#preview').videoWidth === 640", "another camera is previewed")
    await stage.shot(page, "preview")
    step("preview, level, lists, another camera")
    await page.click("#join")
    anna = Person(page, "Anna", "anna")
    await anna.joined()
    moving = "watcher.then((w) => w.frames('anna', {since}).length > 10)"
    await bob.js("watcher.then((w) => w.record('anna'))")
    await bob.until(moving.format(since=0), "the camera's frames come")
    await bob.until("watcher.then((w) => w.listen('anna')?.level > -60)", "the microphone is heard")
    step("the other one sees and hears it")
    await page.click("#open-settings")
    await page.until("document.querySelector('#dialog').open", "the devices are shown")
    await stage.shot(page, "devices")
    before = await page.js("parlor.room.camera.mediaStreamTrack.id")
    await page.js("(() => { const list = document.querySelector('#camera'); list.value ="
                  f" {json.dumps(first)}; list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()")
    await page.until(f"parlor.room.camera.mediaStreamTrack.id !== {json.dumps(before)}", "the camera is another one")
    since = await bob.js("performance.now()")
    await bob.until(moving.format(since=since), "its frames come")
    need(await bob.js("parlor.client.remoteUser('anna').videoTracks.length") == 1, "on the same track")
    await page.press("Escape")
    step("another camera during the call")
    # Off: the device is let go, the others get black, and nothing is negotiated.
    before = len(page.frames)
    shown = "document.querySelector('.tile[data-key=anna]').classList.contains('pictured')"
    await page.js("globalThis.device = parlor.room.camera.mediaStreamTrack")
    await page.click("#toggle-camera")
    need(await page.js("device.readyState") == "ended", "the camera's light is out")
    await bob.until(f"!{shown}", "the other one sees that the camera is off")
    await bob.until(brightness("anna") + " === 0", "what is sent is black")
    await page.click("#open-settings")
    await page.js("(() => { const list = document.querySelector('#camera'); list.value = [...list.options].at(-1).value;"
                  " list.dispatchEvent(new Event('change', { bubbles: true })); })()")
    await page.press("Escape")
    need(await page.js("parlor.room.camera.isReleased"), "another choice does not light it")
    for _ in range(3):
        begin = await page.js("performance.now()")
        await page.click("#toggle-camera")
        await bob.until(shown, "the camera is on again")
        took = await page.js("performance.now()") - begin
        await bob.until(brightness("anna") + " > 0", "with a picture")
        await page.click("#toggle-camera")
        await bob.until(f"!{shown}", "and off")
    await page.click("#toggle-camera")
    await page.click("#toggle-camera")
    await page.until("!parlor.room.ownTracks.isOpening('camera')", "it is not waited for any more")
    need(await page.js("parlor.room.camera.isMuted"), "on and off at once leaves it off")
    # Pressed again when the camera is there already, and not yet what is sent.
    await page.js("""(() => {
        const real = RTCRtpSender.prototype.replaceTrack;
        RTCRtpSender.prototype.replaceTrack = async function (media) {
            RTCRtpSender.prototype.replaceTrack = real;
            globalThis.device = media;
            await new Promise((resolve) => { globalThis.goOn = resolve; });
            return real.call(this, media);
        };
    })()""")
    await page.click("#toggle-camera")
    await page.until("!!globalThis.goOn", "the camera is there")
    await page.click("#toggle-camera")
    await page.js("goOn()")
    await page.until("device.readyState === 'ended' && parlor.room.camera.isMuted", "it stays off, and its light goes out")
    told = {frame[1:].split("=")[0] for frame in page.frames[before:] if frame[0] == ">"} - {"pong", "send-qos-message"}
    need(told == {"mute-tracks"}, f"only the mute is told: {told}")
    # Unplugged.
    await page.click("#toggle-camera")
    await bob.until(shown, "on once more")
    await page.js("parlor.room.camera.mediaStreamTrack.dispatchEvent(new Event('ended'))")
    await bob.until(f"!{shown}", "a camera that is unplugged is off")
    await page.until("document.querySelector('#notices').textContent.includes('unplugged')", "and the person reads why")
    step(f"off lets the camera go, and on gets it again, in {took:.0f} ms and without negotiation")


def brightness(key):
    """Of the picture in a tile: an expression, 0 for black."""
    return (f"(() => {{ const c = new OffscreenCanvas(8, 8).getContext('2d'); c.drawImage(document.querySelector('.tile[data-key={key}] video'),"
            " 0, 0, 8, 8); return Math.max(...[...c.getImageData(0, 0, 8, 8).data].filter((_, at) => at % 4 < 3)); })()")


# ---- moderation

@scenario("moderation")
async def moderation(stage, step):
    """people are removed, by a host and by the server"""
    host = await stage.person("hosted", "Hanna", "hanna", admin="1", publishes=False)
    bob = await stage.person("hosted", "Bob", "bob")
    carol = await stage.person("hosted", "Carol", "carol", publishes=False)
    await bob.press("p")
    await bob.until("document.querySelectorAll('.people li[data-user]').length === 3", "three in the list")
    need(await bob.js("document.querySelector('.people button')") is None, "who is no host can remove nobody")
    refused = await bob.js("parlor.client.kick('carol').then(() => 0, (error) => error.code)")
    need(refused == 10051, f"and the server refuses it with 10051, not {refused}")
    step("who is no host removes nobody")
    await host.press("p")
    # The list is drawn anew at each mute: who is on it with the keyboard stays there.
    await host.js("document.querySelector('.people li[data-user=carol] button').focus()")
    for sign in ("", "!"):
        await bob.press("m")
        await host.until(f"{sign}(document.querySelector('.people li[data-user=bob] .icon').dataset.icon === 'microphoneOff')", "a mute is shown")
        need(await host.js("document.activeElement.closest('li')?.dataset.user") == "carol", "and the focus stays at its line")
    await host.click(".people li[data-user=carol] button")
    await host.until("document.querySelector('#dialog').open", "the page asks back")
    await stage.shot(host, "remove")
    await host.click("#dialog .danger")
    need(await carol.ending() == "You were removed from the room.", "the removed one reads why")
    await host.until("!document.querySelector('.tile[data-key=carol]')", "and is gone")
    await host.until("document.querySelectorAll('.people li').length === 2 && document.querySelector('#panel').contains(document.activeElement)",
                     "the list's line, too, and the focus stays in the list")
    await stage.shot(carol, "removed")
    step("a host removes somebody, who reads why")
    await carol.click("#again")
    await carol.until("!document.querySelector('#lobby').hidden", "the lobby is back")
    await carol.click("#join")
    await carol.joined(publishes=False)
    await carol.sees(bob)
    step("who was removed may join again")

    tracks = json.loads(await stage.cli("room", "hosted", "--json"))
    sound = [track for user in tracks["users"] if user["userId"] == "bob" for track in user["tracks"] if track["kind"] == "audio"][0]
    await stage.cli("mute", "hosted", sound["trackId"])
    await bob.until("document.querySelector('#toggle-microphone').classList.contains('off')", "the muted one sees it")
    await carol.until("document.querySelector('.tile[data-key=bob] figcaption .icon').classList.contains('off')", "and the others")
    await bob.until("document.querySelector('#notices').textContent.includes('The service has muted you')", "and reads who did it")
    await bob.press("m")
    need(await bob.js("!parlor.room.microphone.isMutedByClient"), "the button cannot take it back, nor mute on top of it")
    await stage.cli("mute", "hosted", sound["trackId"], "--off")
    await bob.until("!document.querySelector('#toggle-microphone').classList.contains('off')", "and its end")
    step("a mute by the server is shown on both sides")
    await stage.cli("message", "hosted", "The room closes soon.")
    await carol.until("document.querySelector('#toggle-chat').dataset.count === '1'", "the server's words come")
    await stage.cli("kick", "hosted", "bob")
    need(await bob.ending() == "You were removed from the room.", "a kick by the server API")
    step("message and kick by the server API")
    await stage.cli("close", "hosted", "--reason", "good night")
    need(await host.ending() == "The room was closed.", "the host reads that the room is closed")
    need(await carol.ending() == "The room was closed.", "and the others")
    step("the room is closed")


@scenario("moderation", complaints=OF_THE_NETWORK)
async def refusals(stage, step):
    """every failure in words"""
    first = await stage.person("twice", "Anna", "anna", publishes=False)
    await stage.person("twice", "Anna", "anna", publishes=False)
    need("another page" in await first.ending(), "who joined elsewhere reads so")
    step("the same user elsewhere")
    bad = await stage.person("x", "Anna", "anna", publishes=False, waits=False, token="a:b:c")
    await bad.until("document.querySelector('#lobby-problem').textContent === 'A room token is needed to join.'", "the token is no token")
    old = room_token("x", "anna", time.time() - 60)
    late = await stage.person("x", "Anna", "anna", publishes=False, waits=False, token=old)
    await late.until("document.querySelector('#token-hint').textContent.includes('expired')", "the token is too old")
    forged = (await stage.cli("token", "--room", "x", "--user", "anna")).split(":")
    forged[1] = "A" * 27 + "="
    wrong = await stage.person("x", "Anna", "anna", publishes=False, waits=False, token=":".join(forged))
    await wrong.until("document.querySelector('#lobby-problem').textContent === 'The room token is not valid. (10001)'", "the server refuses it")
    step("tokens that are none, too old, forged")
    good = await stage.cli("token", "--room", "by-token", "--user", "erna")
    chinese = await stage.person("x", "", "x", publishes=False, token=good, lang="zh")
    need(await chinese.js("document.querySelector('#room-title').textContent") == "by-token", "the token names the room")
    step("a good token names room and user")
    room = await stage.page("/?room=bad%20name&name=A&source=none&autojoin=1&lang=zh", "room")
    await room.until("document.querySelector('#lobby-problem').textContent.startsWith('房间名由')", "a bad room's name, in Chinese")
    for user in ("a b", "x" * 51):
        strange = await stage.person("strange", "Anna", user, publishes=False, waits=False)
        await strange.until("document.querySelector('#lobby-problem').textContent.startsWith('The user id in')", "a bad user id in the link")
    step("names that no room and no user can have")


@scenario("moderation")
async def names(stage, step):
    """ids and names that look like something else"""
    anna = await stage.person("names", "Anna", "anna", size="9999x9999", fps="-5")
    need(await anna.js("parlor.media.video.getSettings().width") == 1920, "a link cannot ask for a picture beyond all measure")
    own = await stage.person("names", "Otto", "own")
    shown = "[...document.querySelectorAll('.tile .tile-name')].map((each) => each.textContent).sort().join()"
    await anna.until(f"{shown} === 'Anna (you),Otto'", "a user with the id own has a tile", standing=shown)
    await own.until(f"{shown} === 'Anna,Otto (you)'", "and its own", standing=shown)
    await asyncio.gather(anna.sees(own), own.has_picture(anna))
    step("the id own is one like others")
    await own.click("#leave")
    await anna.until("document.querySelectorAll('.tile').length === 1 && !!document.querySelector('.tile.own')", "only its tile goes")
    hidden, turned = "\u200b\u2060\u3164", "\u202eeve\u202c\u0007x"
    await stage.person("names", hidden, "hidden", publishes=False)
    eve = await stage.person("names", turned, "eve", publishes=False)
    await stage.person("names", "\u05d0\u05d1", "aleph", publishes=False)
    await anna.until("document.querySelector('#notices').textContent.includes('\u2068\u05d0\u05d1\u2069')",
                     "a name from right to left is set apart", within=5)
    # A joiner is kept where it is seen: it makes one sign of two pictographs, and other shapes of Sinhala and Persian letters.
    astronaut = "\U0001f469\U0001f3fd\u200d\U0001f680"
    await stage.person("names", f"{astronaut} A\u200dda\u200d", "ada", publishes=False)
    words = "\u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0645\u06cc\u200c\u0646"
    await stage.person("names", words, "sri", publishes=False)
    await anna.until(f"{shown} === 'Anna (you),evex,hidden,\u05d0\u05d1,{words},{astronaut} Ada'", "what cannot be seen is not shown", standing=shown)
    need(await anna.js("document.querySelector('.tile[data-key=ada] .initials').textContent") == astronaut, "its sign is one")
    step("names are what they look like")
    await stage.cli("message", "names", "by the service")
    server = await stage.person("names", "Server", "server", publishes=False)
    await server.js("parlor.client.sendMessage('by a user')")
    kinds = "JSON.stringify([...document.querySelectorAll('.messages li')].map((e) => [e.className, !!e.querySelector('em')]))"
    await anna.press("c")
    await anna.until(f"{kinds} === '[[\"service\",true],[\"\",false]]'", "the service looks different from a user", standing=kinds)
    await stage.shot(anna, "names")
    step("nobody passes for the service")


# ---- failures in words, in both languages

# What getUserMedia throws, and what the page says to it.
DEVICES = {
    "NotAllowedError": "device.denied", "NotFoundError": "device.missing", "NotReadableError": "device.busy",
    "OverconstrainedError": "device.unfit",
}
PROBLEM = "#lobby-problem"
PREVIEW = "#preview-note"


async def refuse_devices(page, audio=None, video=None):
    """getUserMedia throws these from now on, where they are wanted; and the preview is made anew."""
    await page.js(f"""(() => {{
        const real = globalThis.realDevices ??= navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        const faults = {json.dumps({"audio": audio, "video": video})};
        navigator.mediaDevices.getUserMedia = async (wanted) => {{
            for (const kind of ['audio', 'video']) if (wanted[kind] && faults[kind]) throw new DOMException('', faults[kind]);
            return real(wanted);
        }};
        document.querySelector('#source').value = 'devices';
        document.querySelector('#source').dispatchEvent(new Event('change'));
    }})()""")


@scenario("failures")
async def no_devices(stage, step):
    """camera and microphone that are refused, missing or in use"""
    page = await stage.page("/?room=words&name=Anna&source=synthetic&lang=en", "devices")
    for name, key in DEVICES.items():
        await refuse_devices(page, name, name)
        await says(page, PREVIEW, key)
    step("both: refused, missing, in use, unfit")
    await refuse_devices(page, video="NotReadableError")
    await says(page, PREVIEW, "device.without.camera")
    await says(page, PREVIEW, "device.short.busy")
    await refuse_devices(page)
    await page.until("document.querySelector('#preview-note').hidden", "with both there is nothing to say")
    await refuse_devices(page, "NotFoundError", "NotFoundError")
    await says(page, PREVIEW, "device.missing")
    await stage.shot(page, "no-devices")
    # Plugged in meanwhile.
    await page.js("(navigator.mediaDevices.getUserMedia = realDevices, navigator.mediaDevices.dispatchEvent(new Event('devicechange')), 1)")
    await page.until("document.querySelector('#preview').videoWidth > 0 && document.querySelector('#preview-note').hidden", "it is found")
    await refuse_devices(page, audio="NotFoundError")
    await says(page, PREVIEW, "device.without.microphone")
    await stage.shot(page, "no-microphone")
    step("one of them: what is there is used, and the page says why the other is not")
    await page.click("#join")
    await page.until("parlor.client?.publishedTracks.length === 1", "it joins with the camera alone")
    need(await page.js("document.querySelector('#toggle-microphone').disabled"), "there is no microphone to switch")
    # In the call: off lets the camera go, and on finds it taken by somebody else.
    await page.click("#toggle-camera")
    await page.until("parlor.room.camera.isReleased", "the camera is let go")
    await page.js("navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotReadableError'); }")
    await page.click("#toggle-camera")
    await page.until("document.querySelector('#notices').textContent.includes('another program')", "it says that the camera is in use")
    need(await page.js("parlor.room.camera.isMuted && document.querySelector('#toggle-camera').classList.contains('off')"), "it stays off")
    step("a camera that cannot be had again in the call")


@scenario("failures")
async def unanswered(stage, step):
    """somebody who joins before the browser's question is answered"""
    bob = await stage.person("prompt", "Bob", "bob", publishes=False)
    page = await stage.page("/?room=prompt&name=Anna&user=anna&source=none&lang=en", "anna")
    # The question stands until `answer` is called.
    await page.js("""(() => {
        const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        globalThis.given = [];
        navigator.mediaDevices.getUserMedia = (wanted) => new Promise((resolve) => {
            globalThis.answer = async () => { const stream = await real(wanted); given.push(...stream.getTracks()); resolve(stream); };
        });
        globalThis.choose = (source) => {
            delete globalThis.answer;
            document.querySelector('#source').value = source;
            document.querySelector('#source').dispatchEvent(new Event('change'));
        };
        choose('devices');
    })()""")
    await page.until("!!globalThis.answer", "the browser asks")
    await page.click("#join")
    await page.js("answer()")
    anna = Person(page, "Anna", "anna")
    await anna.joined()
    need(await page.js("parlor.client.publishedTracks.length") == 2, "it joins with what the browser gave")
    await bob.has_picture(anna)
    step("the join waits for the answer")
    await page.click("#leave")
    await bob.until("!document.querySelector('.tile[data-key=anna]')", "it has left")
    need(await page.js("given.every((media) => media.readyState === 'ended')"), "its devices are let go")
    await page.js("(choose('devices'), 1)")
    await page.until("!!globalThis.answer", "the browser asks again")
    await page.js("globalThis.late = answer")
    await page.click("#join")
    await page.js("(choose('none'), 1)")
    await anna.joined(publishes=False)
    await page.js("late()")
    await page.until("given.length === 4 && given.every((media) => media.readyState === 'ended')", "what comes too late is let go")
    need(await page.js("parlor.client.publishedTracks.length === 0 && !parlor.media.audio && !parlor.media.video"), "and is nobody's")
    step("or for another choice; what the browser gives then is stopped")


@scenario("failures")
async def not_taken(stage, step):
    """a server that does not take one's tracks, or not again"""
    bob = await stage.person("taken", "Bob", "bob", publishes=False)
    page = await stage.page("/?room=taken&name=Anna&user=anna&source=devices&size=640x480&fps=10&lang=en", "anna")
    await page.until("document.querySelector('#preview').videoWidth === 640", "the preview shows the camera")
    # What the server cannot read, it refuses. Restarts of a connection that is none make the client publish anew.
    await page.js("""(() => {
        const send = WebSocket.prototype.send;
        globalThis.spoils = true;
        WebSocket.prototype.send = function (words) {
            const spoiled = { 'pubpc=': 'sdp', 'pub-tracks=': 'sdp', 'pubpc-restart=': 'pcid' };
            const found = Object.entries(spoiled).find(([type]) => words.startsWith(type));
            if (!spoils || !found) return send.call(this, words);
            const [type, field] = found;
            return send.call(this, type + JSON.stringify({ ...JSON.parse(words.slice(type.length)), [field]: 'nonsense' }));
        };
        globalThis.devices = () => [parlor.media.audio, parlor.media.video].filter(Boolean);
        globalThis.first = devices();
        globalThis.isOff = (id) => { const e = document.querySelector(`#toggle-${id}`); return !e.disabled && e.classList.contains('off'); };
        navigator.mediaDevices.getDisplayMedia = async () => {
            globalThis.shared = document.createElement('canvas').captureStream(5);
            return shared;
        };
    })()""")
    let_go = "{0}.length === {1} && {0}.every((media) => media.readyState === 'ended') && devices().length === 0"
    off = " && isOff('microphone') && isOff('camera') && parlor.room.tracks.length === 0"
    await page.click("#join")
    await page.until(let_go.format("first", 2) + off, "what was not taken is let go, and shown as off",
                     standing="JSON.stringify([first.map((each) => each.readyState), document.querySelector('#notices').textContent])")
    need(await page.js("document.querySelectorAll('#notices .problem').length") == 1, "and the person reads why")
    await page.js("(spoils = false, 1)")
    for number, button in enumerate(("#toggle-camera", "#toggle-microphone")):
        await page.click(button)
        await page.until(f"parlor.client.publishedTracks.length === {number + 1}", f"{button} publishes it anew")
    await bob.js("watcher.then((w) => w.record('anna'))")
    await bob.until("watcher.then((w) => w.frames('anna', 0).length > 10 && w.listen('anna')?.level > -60)", "it is seen and heard")
    step("not taken at the join: let go, and published when the buttons are pressed")
    await page.click("#toggle-screen")
    await bob.until("!!document.querySelector('.tile.screen')", "the screen is shared, too")
    await page.click("#toggle-camera")
    await page.until("parlor.room.camera.isReleased", "the camera is off")
    await page.js("""(() => {
        spoils = true;
        globalThis.second = [...parlor.room.tracks.map((track) => track.mediaStreamTrack), ...shared.getTracks()];
        parlor.client.restartMedia();
    })()""")
    await page.until(let_go.format("second", 3) + off, "microphone, screen and the black pictures of the camera end",
                     standing="JSON.stringify([second.map((each) => each.readyState), document.querySelector('#notices').textContent])")
    need(await page.js("document.querySelector('#toggle-screen').getAttribute('aria-pressed')") == "false", "no screen is shared")
    await page.js("(spoils = false, 1)")
    since = await bob.js("performance.now()")
    await page.click("#toggle-camera")
    await page.click("#toggle-screen")
    await bob.until(f"!!document.querySelector('.tile.screen') && watcher.then((w) => w.frames('anna', {since}).length > 10)",
                    "camera and screen come again")
    step("not taken again later: the same")


@scenario("failures")
async def insecure(stage, step):
    """a page by http from elsewhere: no devices, and the call all the same"""
    base = stage.url.replace("127.0.0.1", "plain.test")
    page = await stage.page("/?room=insecure&name=Anna&user=anna&source=devices&lang=en", "insecure", base=base)
    need(await page.js("isSecureContext") is False and await page.js("navigator.mediaDevices") is None, "it is no secure context")
    await says(page, PREVIEW, "device.insecure")
    await page.click("#join")
    anna = Person(page, "Anna", "anna")
    await anna.joined(publishes=False)
    bob = await stage.person("insecure", "Bob", "bob")
    await anna.sees(bob)
    for button in ("microphone", "camera", "screen"):
        need(await page.js(f"document.querySelector('#toggle-{button}').disabled"), f"the {button} cannot be switched")
        await page.until(f"document.querySelector('#toggle-{button}').title.length > 12", "and says why")
    await page.click("#invite")
    await page.until("document.querySelector('#notices').textContent.includes('/?room=insecure')", "without a clipboard the link is shown")
    need(await page.js("!document.querySelector('#notices').textContent.includes('copied')"), "and is not said to be copied")
    step("says why, joins, sees, and shows the link")


@scenario("failures", complaints=OF_THE_NETWORK)
async def full(stage, step):
    """a room that is full"""
    status = await stage.api("POST", "/v3/apps/demo/createroom", {"roomName": "one-seat", "maxUsers": 1})
    need(status == 200, f"the room is made: {status}")
    await stage.person("one-seat", "Anna", "anna", publishes=False)
    bob = await stage.person("one-seat", "Bob", "bob", publishes=False, waits=False)
    await says(bob, PROBLEM, "error.10011")
    step("the second one reads so")


@scenario("failures", complaints=OF_THE_NETWORK)
async def stopped(stage, step):
    """a node that is stopped, and one that is not there"""
    node, url = await stage.node()
    anna = await stage.person("stops", "Anna", "anna", publishes=False, base=url)
    node.terminate()
    await anna.ending()
    await says(anna, "#ending-reason", "end.nodeStopping")
    step("in the room: it is out, and reads why")
    await anna.click("#again")
    await anna.until("!document.querySelector('#lobby').hidden", "the lobby is back")
    await anna.click("#join")
    await says(anna, PROBLEM, "error.21004")
    step("in the lobby: nobody answers")


# It waits for the client's 15 s, so others go on beside it.
@scenario("failures", beside=True, complaints=OF_THE_NETWORK)
async def blocked(stage, step):
    """a firewall that holds UDP and TCP back"""
    bob = await stage.person("blocked", "Bob", "bob")
    page = await stage.page("/?room=blocked&name=Anna&user=anna&source=synthetic&lang=en", "blocked")
    # The node's addresses, where nobody is.
    await page.js("""(() => {
        const set = RTCPeerConnection.prototype.setRemoteDescription;
        RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
            return set.call(this, { type, sdp: sdp.replace(/(a=candidate:\\S+ 1 \\S+ \\d+) \\S+/g, '$1 127.0.0.77') });
        };
    })()""")
    await page.click("#join")
    await page.until("parlor.client?.connectionState === 'connected'", "the signalling is there")
    await page.until("!document.querySelector('#banner').hidden", "a banner comes")
    await says(page, "#banner", "state.blocked")
    await stage.shot(page, "blocked")
    await page.until("document.querySelector('#notices').textContent.includes('firewall')", "the publication is given up")
    await page.until("document.querySelector('.tile[data-key=bob] .tile-note').textContent.length > 0", "the other's tile says that it waits")
    await bob.until("!!document.querySelector('.tile[data-key=anna]')", "the other one has it in the room")
    step("the page says so while it tries, and when it gives up")


# ---- losses

@scenario("losses", complaints=OF_THE_NETWORK)
async def losses(stage, step):
    """signalling is cut, media goes on, everything comes back"""
    proxy, base = await stage.proxy()
    anna = await stage.person("cut", "Anna", "anna", base=base)
    bob = await stage.person("cut", "Bob", "bob")
    # The browsers share a busy machine: a gap of the call's own making is there each time, one of the machine's is not.
    async def smooth(what, act):
        for attempt in range(3):
            # Three seconds of them, against which gaps are held.
            await asyncio.gather(anna.sees(bob, frames=30), bob.sees(anna, frames=30))
            since, here = await bob.js("performance.now()"), await anna.js("performance.now()")
            usual = max(await bob.usual_gap(anna, since), await anna.usual_gap(bob, here))
            await act(attempt)
            await asyncio.gather(anna.sees(bob, frames=15), bob.sees(anna, frames=15))
            gaps = [await bob.longest_gap(anna, since), await anna.longest_gap(bob, here)]
            if max(gaps) < 500 + usual:
                return step(f"{what}; longest gaps of the picture {gaps[0]:.0f} and {gaps[1]:.0f} ms, usually {usual:.0f}")
        raise Failed(f"{what}: three times the picture stood still for long: longest gaps {gaps} ms, usually {usual}")

    async def cut(attempt):
        refused = proxy.refused
        proxy.refuses = True
        proxy.cut()
        await anna.until("document.querySelector('#banner').dataset.state === 'state.reconnecting' && !document.querySelector('#banner').hidden",
                         "the page says that it is cut off")
        await bob.until("document.querySelector('.tile[data-key=anna]').classList.contains('reconnecting')", "the other one sees it")
        await stage.shot(anna, "reconnecting")
        await bob.js("parlor.client.sendMessage('while you were away')")
        await eventually(lambda: proxy.refused >= refused + 2, "it tries to come back, in vain")
        proxy.refuses = False
        await anna.until("parlor.client.connectionState === 'reconnected'", "it is back", within=30)
        await anna.until("document.querySelector('#banner').hidden", "the banner is gone")
        await bob.until("!document.querySelector('.tile[data-key=anna]').classList.contains('reconnecting')", "the other one sees that, too")
        await anna.until(f"document.querySelector('#toggle-chat').dataset.count === '{attempt + 1}'", "the message of meanwhile has come")

    await smooth("signalling cut and resumed", cut)
    await asyncio.gather(anna.hears(bob), bob.hears(anna))
    # What is done after a way back works as before.
    for attempt in range(3):
        await bob.sees(anna, frames=30)
        since = await bob.js("performance.now()")
        usual = await bob.usual_gap(anna, since)
        await anna.press("v")
        await bob.has_picture(anna, False)
        since = await bob.js("performance.now()")
        await anna.press("v")
        await asyncio.gather(bob.has_picture(anna), bob.sees(anna, since=since))
        frames = await bob.js(f"watcher.then((w) => w.frames('anna', {since}))")
        took = next(frame["at"] for frame in frames if frame.get("number") is not None) - since
        if took < 500 + usual:
            break
    need(took < 500 + usual, f"three times the picture was long in coming after a mute: {took} ms, usually {usual}")
    step(f"mute works after the way back; the picture is there again after {took:.0f} ms")
    await smooth("ICE restart of both connections", lambda _: anna.js("parlor.client.restartMedia().then(() => 1)"))

    await anna.command("Page.reload")
    await anna.until("parlor?.client?.connectionState === 'connected'", "the page is loaded again")
    await anna.joined()
    await asyncio.gather(anna.sees(bob), bob.sees(anna), anna.hears(bob), bob.hears(anna))
    step("reload: the same person again, with picture and sound")




# It waits for the server's 30 s, so others go on beside it.
@scenario("calls", beside=True, complaints=OF_THE_NETWORK)
async def lost(stage, step):
    """who does not come back within 30 s is out"""
    proxy, base = await stage.proxy()
    anna = await stage.person("lost", "Anna", "anna", base=base, publishes=False)
    bob = await stage.person("lost", "Bob", "bob", publishes=False)
    await bob.until("!!document.querySelector('.tile[data-key=anna]')", "both are in the room")
    proxy.refuses = True
    cut = time.monotonic()
    proxy.cut()
    await bob.until("document.querySelector('.tile[data-key=anna]').classList.contains('reconnecting')", "one is cut off")
    await bob.until("!document.querySelector('.tile[data-key=anna]')", "after 30 s it is gone", within=60)
    # The server counts them from the break, which it cannot hear of before it is made.
    need(time.monotonic() - cut > 27, f"it was gone after {time.monotonic() - cut:.1f} s")
    need("join again" in await anna.ending(within=30), "and reads that it was not back in time")
    step("both hear of it")


# ---- networks

async def protocols(person):
    return set(await person.js("parlor.client.statistics().then((all) => [...all.values()].map((each) => each.protocol))"))


@scenario("tcp", arguments=[
    "--force-webrtc-ip-handling-policy", "--webrtc-ip-handling-policy=disable_non_proxied_udp"])
async def no_udp(stage, step):
    """without UDP the call goes over TCP"""
    anna = await stage.person("tcp", "Anna", "anna")
    bob = await stage.person("tcp", "Bob", "bob")
    await asyncio.gather(anna.sees(bob), bob.sees(anna), anna.hears(bob), bob.hears(anna))
    for person in (anna, bob):
        need(await protocols(person) == {"tcp"}, f"{person.user}'s media goes over TCP, both ways")
    step("a browser that may not use UDP sees and hears")


@scenario("tcp")
async def tcp_by_wish(stage, step):
    """TCP by the client's own wish, and the page by HTTPS"""
    anna = await stage.person("wish", "Anna", "anna", policy="forceTcp")
    bob = await stage.person("wish", "Bob", "bob", policy="forceUdp", base=stage.https)
    await asyncio.gather(anna.sees(bob), bob.sees(anna), anna.hears(bob), bob.hears(anna))
    offers = [json.loads(frame.split("=", 1)[1]) for frame in anna.frames if frame.startswith("<pubpc-res=")]
    need(all(each["protocol"] == "tcp" for each in offers[0]["iceCandidates"]), "only TCP was offered")
    need(await protocols(anna) == {"tcp"}, "all of the one's media goes over TCP")
    need(await protocols(bob) == {"udp"}, "all of the other's over UDP")
    step("one by TCP, one by UDP over HTTPS and wss")


# ---- the media's way: the node is announced on 127.0.0.2, where only the relay is

@scenario("path")
async def path(stage, step):
    """the media's path is interrupted, and changes"""
    first = int(stage.options.media)
    relay = await Relay("127.0.0.2", range(first, first + 2), "127.0.0.1").start()
    try:
        anna = await stage.person("path", "Anna", "anna")
        bob = await stage.person("path", "Bob", "bob")
        await asyncio.gather(anna.sees(bob), bob.sees(anna))
        need(relay.passed > 50, "the media goes through the relay")
        for person in (anna, bob):
            need(await protocols(person) == {"udp"}, f"{person.user} uses UDP")
        since = [await anna.js("performance.now()"), await bob.js("performance.now()")]
        relay.rebind()
        await asyncio.gather(anna.sees(bob, frames=30), bob.sees(anna, frames=30))
        gaps = [await anna.longest_gap(bob, since[0]), await bob.longest_gap(anna, since[1])]
        need(max(gaps) < 5000, f"other ports are followed: longest gaps {gaps}")
        step(f"the node follows other ports; longest gaps {gaps[0]:.0f} and {gaps[1]:.0f} ms")

        before = len(anna.frames)
        relay.loses = True
        await anna.until("document.querySelector('#banner').dataset.state === 'state.media' && !document.querySelector('#banner').hidden",
                         "the page says that the media is interrupted")
        await stage.shot(anna, "interrupted")
        need(await anna.js("parlor.client.connectionState") == "connected", "the signalling is not")
        asked = lambda: {frame.split("=")[0] for frame in anna.frames[before:]}
        await eventually(lambda: {">pubpc-restart", ">subpc-restart"} <= asked(), "both connections are restarted")
        relay.loses = False
        await asyncio.gather(anna.sees(bob), bob.sees(anna), anna.hears(bob))
        await anna.until("document.querySelector('#banner').hidden", "the banner is gone")
        need(not [frame for frame in anna.frames[before:] if frame.startswith((">pubpc=", ">subpc="))], "no connection was made anew")
        step("an interruption is shown, and mended by an ICE restart")
    finally:
        relay.stop()


@scenario("path", slow=True)
async def long_loss(stage, step):
    """a path that is gone for long gets new connections"""
    first = int(stage.options.media)
    relay = await Relay("127.0.0.2", range(first, first + 2), "127.0.0.1").start()
    try:
        anna = await stage.person("gone", "Anna", "anna")
        bob = await stage.person("gone", "Bob", "bob")
        await asyncio.gather(anna.sees(bob), bob.sees(anna))
        before = len(anna.frames)
        relay.loses = True
        # The browser gives it up at last, or the node does, after 30 s.
        given_up = ("<on-pubpc-disconnected=", ">pubpc=")
        await eventually(lambda: any(frame.startswith(given_up) for frame in anna.frames[before:]), "one gives it up", within=60)
        relay.loses = False
        await asyncio.gather(anna.sees(bob, within=60), bob.sees(anna, within=60), bob.hears(anna, within=60))
        need([frame for frame in anna.frames[before:] if frame.startswith(">pubpc=")], "a new publishing connection")
        need(await anna.js("parlor.room.tracks.every((track) => track.isPublished)"), "the tracks are published")
        await bob.until("parlor.client.remoteUser('anna').videoTracks.length === 1", "and the old ones are gone")
        step("both connections were made anew")
    finally:
        relay.stop()


# ---- Firefox

async def choose(pairs, quality, width):
    """Each of the first ones wants that layer of the second one, and gets it."""
    for one, two in pairs:
        await one.js(f"(parlor.room.stage.tiles.get('{two.user}').setQuality('{quality}'), 1)")
    await asyncio.gather(*(one.sees(two, width=width, within=60) for one, two in pairs))


@scenario("firefox")
async def firefox(stage, step):
    """Firefox and Chromium see and hear each other"""
    browser = await Firefox(os.path.join(stage.folder, "firefox.log")).start()
    try:
        anna = await stage.person("fox", "Anna", "anna", size="960x540")
        page = await FirefoxPage(browser, "fox").open(
            f"{stage.url}/?room=fox&name=Fox&user=fox&source=synthetic&autojoin=1&size=960x540&fps=10&lang=en")
        fox = Person(page, "Fox", "fox")
        await fox.joined()
        await asyncio.gather(anna.sees(fox), fox.sees(anna))
        step("each sees the other's own frames")
        # Without a sound card its Web Audio stands still, so the tone is that of its fake microphone.
        await fox.js("navigator.mediaDevices.getUserMedia({ audio: true }).then((all) => parlor.room.microphone.replace(all.getAudioTracks()[0]))")
        await anna.until("watcher.then((w) => w.listen('fox')?.level > -60)", "Chromium hears Firefox")
        await fox.until("parlor.client.remoteUser('anna').audioTracks[0].audioLevel > 0.005", "Firefox hears Chromium")
        step("each hears the other")
        await choose(((anna, fox), (fox, anna)), "low", 240)
        step("the small layer, in both directions")
        await fox.js("parlor.client.restartMedia().then(() => 1)")
        await asyncio.gather(anna.sees(fox, frames=15), fox.sees(anna, frames=15))
        step("ICE restart by Firefox")
        await fox.js("(parlor.client.loseConnection(), 1)")
        await fox.until("parlor.client.connectionState === 'reconnected'", "Firefox comes back")
        await fox.js("(parlor.room.toggle('camera'), 1)")
        await anna.has_picture(fox, False)
        await fox.js("(parlor.room.toggle('camera'), 1)")
        await asyncio.gather(anna.sees(fox), fox.sees(anna))
        step("signalling cut and resumed, mute")
        # Late, for until a sender has found out what its network carries the large layer may not come.
        await choose(((anna, fox), (fox, anna)), "high", 960)
        step("the large layer, in both directions")
        await fox.js("parlor.client.unpublish(parlor.room.tracks).then(() => parlor.client.publish(parlor.room.tracks)).then(() => 1)")
        await anna.sees(fox)
        step("unpublished, and published again")
        await stage.shot(page, "firefox")
        need(not [line for line in page.console if line.startswith(("error", "exception"))], f"Firefox complains: {page.console}")
    finally:
        await browser.stop()


# ---- the client

@scenario("client")
async def types(stage, step):
    """parlor-client.d.ts says what parlor-client.js has"""
    page = await stage.page("/?lang=en", "types")
    differences = await page.js("""(async () => {
        const text = (await (await fetch('/parlor-client.d.ts')).text()).replace(/\\/\\*[^]*?\\*\\//g, '').replace(/\\/\\/.*$/gm, '');
        const module = await import('/parlor-client.js');
        const wrong = [];
        const exported = [...text.matchAll(/^export (?:const|class|function) (\\w+)/gm)].map((match) => match[1]);
        for (const name of exported) if (!(name in module)) wrong.push(`${name} is not exported`);
        for (const name of Object.keys(module)) if (!exported.includes(name)) wrong.push(`${name} has no type`);
        const codes = Object.fromEntries([...text.matchAll(/^    (\\w+): (\\d{5});/gm)].map((match) => [match[1], Number(match[2])]));
        for (const [name, code] of Object.entries(module.ErrorCode)) if (codes[name] !== code) wrong.push(`ErrorCode.${name}`);
        for (const name of Object.keys(codes)) if (!(name in module.ErrorCode)) wrong.push(`ErrorCode.${name} is not there`);
        const media = new MediaStream(document.createElement('canvas').captureStream().getTracks()).getVideoTracks()[0];
        const samples = {
            RTCError: new module.RTCError(1, 'x'), TokenClaims: new module.TokenClaims('a', 'b', 'c', 1, false),
            LocalTrack: new module.LocalTrack(media), RTCClient: new module.RTCClient({ servers: ['http://localhost'] }),
            JoinTimeline: new module.JoinTimeline(), RemoteTrack: new module.RemoteTrack({ trackid: 't', playerid: 'u', kind: 'audio' }), RemoteUser: new module.RemoteUser('u', ''),
        };
        const internal = {
            LocalTrack: ['published', 'localID'], RemoteTrack: ['mid', 'versionID', 'receiver'], RemoteUser: ['tracks'],
            RTCClient: ['emit'], RTCError: ['name', 'message', 'stack', 'cause'],
        };
        for (const [name, sample] of Object.entries(samples)) {
            const body = text.match(new RegExp(`class ${name}[^{]*\\\\{\\\\n([^]*?)\\\\n\\\\}`))[1];
            // One member a line; a signature may go on below, further in.
            const lines = body.split('\\n').filter((line) => /^ {4}\\S/.test(line)).map((line) => line.trim());
            const typed = { instance: new Set(), static: new Set() };
            for (const line of lines) {
                const match = line.match(/^(?:(static) |readonly |private )?(?:readonly )?(\\w+)\\s*[<(:?]/);
                if (match && match[2] !== 'constructor') typed[match[1] ?? 'instance'].add(match[2]);
            }
            const real = new Set(Object.keys(sample));
            for (let at = Object.getPrototypeOf(sample); at && at !== Object.prototype && at !== Error.prototype; at = Object.getPrototypeOf(at)) {
                Object.getOwnPropertyNames(at).forEach((each) => real.add(each));
            }
            real.delete('constructor');
            for (const each of typed.instance) if (!real.has(each)) wrong.push(`${name}.${each} is typed and not there`);
            for (const each of real) if (!typed.instance.has(each) && !(internal[name] ?? []).includes(each)) wrong.push(`${name}.${each} is there and not typed`);
            const statics = Object.getOwnPropertyNames(module[name]).filter((each) => !['length', 'name', 'prototype', 'captureStackTrace', 'stackTraceLimit'].includes(each));
            for (const each of typed.static) if (!statics.includes(each)) wrong.push(`static ${name}.${each} is typed and not there`);
            for (const each of statics) if (!typed.static.has(each)) wrong.push(`static ${name}.${each} is there and not typed`);
            if (typed.instance.size < 2) wrong.push(`${name}: the types were not read`);
        }
        const events = [...text.match(/interface RTCClientEvents \\{([^]*?)\\n\\}/)[1].matchAll(/^ {4}(\\w+):/gm)].map((match) => match[1]);
        const sources = await Promise.all(['client', 'room'].map(async (file) => (await fetch(`/parlor-client/${file}.js`)).text()));
        const told = new Set(sources.join('').match(/(?<=emit\\('|\\[\\[?')\\w+(?=')|'user(?:Reconnecting|Reconnected)'/g).map((each) => each.replace(/'/g, '')));
        for (const each of events) if (!told.has(each)) wrong.push(`the event ${each} is never told`);
        for (const each of told) if (/^[a-z]+[A-Z]/.test(each) && !events.includes(each)) wrong.push(`the event ${each} has no type`);
        return wrong;
    })()""")
    need(differences == [], f"{differences}")
    step("names, members, codes and events are the same in both")
    texts = await page.js("""(async () => {
        const [{ english }, { chinese }] = await Promise.all([import('/page/texts-en.js'), import('/page/texts-zh.js')]);
        const marks = (text) => [...new Set(text.match(/\\{\\w+\\}/g) ?? [])].sort().join();
        return [...Object.keys(english).filter((key) => !chinese[key]), ...Object.keys(chinese).filter((key) => !english[key]),
            ...Object.keys(english).filter((key) => marks(english[key]) !== marks(chinese[key] ?? ''))];
    })()""")
    need(texts == [], f"texts that only one language has, or with other places: {texts}")
    step("both languages say the same things")


# The page's policy holds back what is asked of another server, which here is not there anyway.
@scenario("client", complaints=("error: Connecting to 'http://127.0.0.1:1/", "error: Fetch API cannot load http://127.0.0.1:1/"))
async def program(stage, step):
    """the client without the page, as an app uses it"""
    page = await stage.page("/whep.html", "program")
    other = await stage.person("program", "Anna", "anna")
    token = await stage.cli("token", "--room", "program", "--user", "tester")
    told = await page.js(f"""(async () => {{
        const {{ RTCClient, LocalTrack, RTCError, ErrorCode }} = await import('/parlor-client.js');
        const {{ SyntheticSource }} = await import('/page/synthetic.js');
        const client = new RTCClient({{ servers: ['http://127.0.0.1:1', location.origin], redundantAudio: true }});
        globalThis.client = client;
        globalThis.told = [];
        for (const name of ['connectionStateChanged', 'userJoined', 'tracksPublished', 'tracksSubscribed', 'mediaStateChanged'])
            client.on(name, (...values) => told.push(name));
        const thrown = [];
        const attempt = async (body) => {{ try {{ await body(); thrown.push(0); }} catch (error) {{ thrown.push(error instanceof RTCError ? error.code : String(error)); }} }};
        await attempt(() => client.publish([]));
        await attempt(() => client.join('nonsense'));
        await client.join({json.dumps(token)}, 'hello');
        await attempt(() => client.join({json.dumps(token)}));
        await attempt(() => client.kick('nobody'));
        const source = new SyntheticSource('Tester', [320, 180], 10);
        globalThis.source = source;
        const track = new LocalTrack(source.video, {{ tag: 'camera', bitrate: 300 }});
        await client.publish([track, new LocalTrack(source.audio, {{ tag: 'microphone' }})]);
        await attempt(() => client.publish([track]));
        await attempt(() => client.setProfile(client.remoteUserList[0].videoTracks[0], 'gigantic'));
        globalThis.track = track;
        return {{ thrown, id: track.trackID, isPublished: track.isPublished }};
    }})()""")
    need(told["thrown"] == [21002, 10001, 21002, 10051, 10033, 10053], f"codes: {told['thrown']}")
    need(told["isPublished"] and told["id"], "the track is published")
    tester = type("Other", (), {"user": "tester", "name": "Tester"})()
    await asyncio.gather(other.sees(tester), other.hears(tester))
    step("joins past a dead server, publishes; codes of refused calls")
    steps = ["http", "webSocket", "authenticated", "subscribed", "ice", "dtls", "firstPacket", "firstFrame"]
    await page.until("client.joinTimeline.firstFrame > 0 && client.joinTimeline.connected > 0", "the join's steps are all known",
                     standing="JSON.stringify(client.joinTimeline)")
    times = await page.js(f"{json.dumps(steps)}.map((step) => client.joinTimeline[step])")
    need(times == sorted(times) and times[0] > 0, f"the steps of the join come in their order: {dict(zip(steps, times))}")
    step("the steps of its join: " + ", ".join(f"{name} {time:.0f}" for name, time in zip(steps, times)) + " ms")
    await page.js("client.unpublish([track])")
    await other.has_picture(tester, False)
    await page.js("client.publish([track])")
    await asyncio.gather(other.has_picture(tester), other.sees(tester))
    step("unpublish, and publish again")
    await page.js("client.unsubscribe(client.remoteUserList[0].videoTracks)")
    need(await page.js("client.remoteUserList[0].videoTracks[0].isSubscribed") is False, "unsubscribed")
    await page.js("client.subscribe(client.remoteUserList[0].videoTracks)")
    await page.until("client.statistics().then((all) => [...all.values()].some((each) => each.direction === 'down' && each.framesDecoded > 5))",
                     "frames come after subscribing again")
    step("unsubscribe, and subscribe again")
    # Another camera without another publication.
    await page.js("""(async () => {
        const { SyntheticSource } = await import('/page/synthetic.js');
        globalThis.second = new SyntheticSource('Second', [320, 180], 10);
        await track.replace(second.video);
    })()""")
    second = type("Other", (), {"user": "tester", "name": "Second"})()
    since = await other.js("performance.now() + 1500")
    await other.sees(second, since=since)
    step("another device on the same track")
    await page.js("client.leave()")
    await other.until("!document.querySelector('.tile[data-key=tester]')", "it has left")
    events = await page.js("told")
    need({"userJoined", "tracksPublished", "tracksSubscribed", "mediaStateChanged"} <= set(events), f"{events}")


@scenario("client")
async def manual(stage, step):
    """the examples of docs/web.md"""
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "..", "..", "..", "..", "docs", "web.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```js example=(\w+)\n(.*?)```", file.read(), re.DOTALL)
    need(len(blocks) == 10, f"docs/web.md has {len(blocks)} examples")
    anna = await stage.person("manual", "Anna", "anna")
    token = await stage.cli("token", "--room", "manual", "--user", "alice")
    page = await stage.page("/whep.html", "manual")
    # As one module would run them: names of one block are those of the next.
    body = "".join(re.sub(r"import \{(.*?)\} from '(.*?)';", r"const {\1} = await import('\2');",
                          re.sub(r"^(const|let) (\w+) =", r"globalThis.\2 =", text, flags=re.MULTILINE)) +
                   (WAITS.get(name, "")) + f"\ndone.push('{name}');\n" for name, text in blocks)
    told = await page.js(f"globalThis.done = []; globalThis.token = {json.dumps(token)}; (async () => {{ {body} return done; }})()")
    need(told == [name for name, _ in blocks], f"ran {told}")
    await anna.until("document.querySelector('#notices').textContent.includes('Alice has left')", "Alice was there, and has left")
    printed = "\n".join(page.console)
    for words in ("log: connected", "log: anna is here", "this token may not remove others", "log: disconnected leave"):
        need(words in printed, f"the examples print {words!r}: {printed}")
    need(re.search(r"log: in the room after \d+ ms, first picture after \d+ ms", printed), f"the steps of the join: {printed}")
    need("log: video down VP8" in printed, f"figures of what comes: {printed}")
    step("all of them run, in their order")


# What a reader would wait for between two examples.
WAITS = {
    "receiving": """
        await new Promise((resolve) => { const look = () => elements.size >= 2 ? resolve() : setTimeout(look, 50); look(); });""",
    "publishing": """\nawait client.statistics();
        const moves = async () => [...(await client.statistics()).values()].some((each) => each.direction === 'down' && each.framesDecoded > 5);
        while (!(await moves() && client.joinTimeline.firstFrame)) await new Promise((resolve) => setTimeout(resolve, 50));\n""",
}


@scenario("client")
async def codecs(stage, step):
    """a room of VP8 shows what WHIP publishes in other codecs"""
    anna = await stage.person("codecs", "Anna", "anna", publishes=False)
    for codec in ("VP9", "AV1"):
        whip = await stage.page("/whip.html?room=codecs&source=synthetic", codec)
        await whip.until("document.querySelector('#token').value", "a token")
        await whip.js(f"""(() => {{
            const add = RTCPeerConnection.prototype.addTransceiver;
            RTCPeerConnection.prototype.addTransceiver = function (track, options) {{
                const transceiver = add.call(this, track, options);
                if (track.kind === 'video') {{
                    transceiver.setCodecPreferences(RTCRtpReceiver.getCapabilities('video').codecs
                        .filter((each) => each.mimeType === 'video/{codec}' || each.mimeType === 'video/rtx'));
                }}
                return transceiver;
            }};
        }})()""")
        await whip.click("button.primary")
        await whip.until("document.querySelector('#state').textContent === 'connected'", f"{codec} is connected",
                         standing="document.querySelector('#state').textContent")
        user = await anna.until("parlor.client.remoteUserList[0]?.userID", "the room hears of it")
        await anna.sees(type("Other", (), {"user": user, "name": "WHIP"})())
        found = await anna.js("parlor.client.statistics().then((all) => [...all.values()].map((each) => each.codec))")
        need(codec in found, f"{codec} comes as such: {found}")
        await whip.click("#stop")
        await anna.until("parlor.client.remoteUserList.length === 0", "it is gone")
        await whip.close()
        step(codec)


@scenario("client")
async def refused(stage, step):
    """publications that are refused leave those after them alone"""
    anna = await stage.person("refused", "Anna", "anna")
    bob = await stage.person("refused", "Bob", "bob", publishes=False)
    await anna.js("""(() => {
        const canvas = document.createElement('canvas');
        canvas.getContext('2d').fillRect(0, 0, 9, 9);
        globalThis.draws = setInterval(() => canvas.getContext('2d').fillRect(0, 0, 9, 9), 50);
        const media = { video: canvas.captureStream(20).getVideoTracks()[0], audio: parlor.media.audio };
        globalThis.offered = [];
        globalThis.publish = async (kind, tag) => {
            const { LocalTrack } = await import('/parlor-client.js');
            const track = new LocalTrack(media[kind].clone(), { tag });
            offered.push(track);
            return parlor.client.publish([track]).then(() => 'taken', (error) => error.code);
        };
        globalThis.unpublish = () => parlor.client.unpublish([offered.at(-1)]).then(() => 'gone', String);
    })()""")
    long = "x" * 300
    for kind, other in (("video", "audio"), ("audio", "video")):
        for tag, each, expected in (("one", kind, "taken"), (long, kind, 10053), (long, other, 10053), ("two", kind, "taken"),
                                    ("three", other, "taken")):
            got = await anna.js(f"publish('{each}', '{tag}')")
            need(got == expected, f"{each} with a tag of {len(tag)} letters: {got}, not {expected}")
        need(await anna.js("unpublish()") == "gone", "the last one ends")
        need(await anna.js("publish('video', 'again')") == "taken", "and another takes its section")
    step("the one after a refusal is taken, of the same kind or the other")
    need(await anna.js("parlor.client.publishedTracks.length") == 8, "all that were taken are published")
    await bob.until("parlor.client.remoteUser('anna').videoTracks.filter((track) => track.isSubscribed).length === 5", "and arrive")
    await asyncio.gather(bob.sees(anna), bob.hears(anna))
    step("what was published before goes on")


@scenario("client")
async def whip_and_whep(stage, step):
    """the examples of WHIP and WHEP"""
    anna = await stage.person("legs", "Anna", "anna", publishes=False)
    whip = await stage.page("/whip.html?room=legs&source=synthetic", "whip")
    await whip.until("document.querySelector('#token').value", "a token")
    # Twice, as the impatient do.
    await whip.js("(document.querySelector('#start').click(), document.querySelector('#start').click())")
    await whip.until("document.querySelector('#state').textContent === 'connected'", "it is connected",
                     standing="document.querySelector('#state').textContent")
    user = await anna.until("parlor.client.remoteUserList[0]?.userID", "the room hears of it")
    publisher = type("Other", (), {"user": user, "name": "WHIP"})()
    await asyncio.gather(anna.sees(publisher), anna.hears(publisher))
    step("whip.html publishes into a room; the page sees and hears it")
    whep = await stage.page(f"/whep.html?room=legs&user={user}", "whep")
    await whep.until("document.querySelector('#token').value", "a token")
    await whep.click("button.primary")
    await whep.until("document.querySelector('#video').videoWidth > 0 && document.querySelector('#video').currentTime > 1",
                     "the picture plays", standing="document.querySelector('#state').textContent")
    found = await whep.until(f"""(async () => {{
        const {{ read }} = await import('/page/pattern.js');
        return read(document.querySelector('#video'), new OffscreenCanvas(320, 180).getContext('2d'))?.source === {source_of('WHIP')};
    }})()""", "the frame is the publisher's own")
    need(found, "")
    await stage.shot(whep, "whep")
    step("whep.html plays it")
    # The network does not answer: the camera does not wait for it.
    await whip.js("""(() => {
        const real = globalThis.fetch;
        globalThis.media = document.querySelector('#video').srcObject.getTracks();
        globalThis.fetch = (...words) => new Promise((resolve) => { globalThis.goOn = () => { globalThis.fetch = real; resolve(real(...words)); }; });
    })()""")
    await whip.click("#stop")
    need(await whip.js("media.length === 2 && media.every((each) => each.readyState === 'ended')"), "what was sent is let go at once")
    need(await whip.js("document.querySelector('#state').textContent") == "", "and the page says so")
    await whip.js("goOn()")
    await anna.until("parlor.client.remoteUserList.length < 2 && !parlor.client.remoteUserList.some((u) => u.userID.startsWith('whip'))",
                     "the publisher is gone")
    step("stopping removes it")
    await whip.click("#start")
    await whip.until("document.querySelector('#state').textContent === 'connected'", "it is connected again",
                     standing="document.querySelector('#state').textContent")
    await anna.until("parlor.client.remoteUserList.some((u) => u.userID.startsWith('whip'))", "the room hears of it")
    for path, heading in (("whip", "用 WHIP 发布"), ("whep", "用 WHEP 观看")):
        chinese = await stage.page(f"/{path}.html?lang=zh", path, width=390, height=844, mobile=True)
        await chinese.until(f"document.querySelector('h1').textContent === {json.dumps(heading)} && document.documentElement.lang === 'zh-Hans'",
                            "it speaks Chinese", standing="document.querySelector('h1').textContent")
        need(await chinese.js("[...document.querySelectorAll('[data-text]')].every((each) => each.textContent)"), "all of it")
        await fits(chinese, path)
        await stage.shot(chinese, f"{path}-zh")
    step("in Chinese, and on a phone")
    for page, name in ((whip, "whip"), (whep, "whep")):
        # The leg is its token's, whatever the form says by now.
        await page.js("(document.querySelector('#token').value = 'another', 1)")
        await page.leave()
        # Without the page's word it would be half a minute.
        await anna.until(f"!parlor.client.remoteUserList.some((u) => u.userID.startsWith('{name}'))", f"{name} is gone", within=5)
    step("and so does closing the tab")


@scenario("client", complaints=OF_THE_NETWORK)
async def legs_that_end(stage, step):
    """legs of WHIP and WHEP that the server ends"""
    state = "document.querySelector('#state').textContent"
    anna = await stage.person("ended", "Anna", "anna")
    whip = await stage.page("/whip.html?room=ended&source=synthetic", "whip")
    whep = await stage.page("/whep.html?room=ended&user=anna", "whep")
    for page in (whip, whep):
        await page.until("document.querySelector('#token').value", "a token")
        token = await page.js("document.querySelector('#token').value")
        await page.js("(document.querySelector('#token').value = 'ключ', 1)")
        await page.click("#start")
        await page.until(f"{state}.startsWith('The room token is not valid.')", "a token that is none is said to be none", standing=state)
        await page.js(f"(document.querySelector('#token').value = {json.dumps(token)}, 1)")
        await page.click("#start")
        await page.until(f"{state} === 'connected'", "it is connected", standing=state)
        await page.js("(document.querySelector('#token').value = 'another', 1)")
    await whip.js("globalThis.media = document.querySelector('#video').srcObject.getTracks()")
    room = json.loads(await stage.cli("room", "ended", "--json"))
    for user in room["users"]:
        if user["userId"] != "anna":
            await stage.cli("kick", "ended", user["userId"])
    for page in (whip, whep):
        await page.until(f"{state} === 'The server has ended this.'", "it says so", within=10, standing=state)
        need(await page.js("document.querySelector('#stop').disabled && !document.querySelector('#start').disabled"), "it may begin anew")
    need(await whip.js("media.length === 2 && media.every((each) => each.readyState === 'ended')"), "what was sent is let go")
    step("both say so, and let go what they sent")
    await whip.js(f"(document.querySelector('#token').value = {json.dumps(token)}, 1)")
    await whip.click("#start")
    await whip.until(f"{state} === 'connected'", "it is connected again", standing=state)
    step("and begin anew")


# ---- looks

@scenario("looks")
async def looks(stage, step):
    """every view on desk and phone, light and dark, in both languages"""
    shapes = {"desk": (1280, 800, 1, False), "phone": (390, 844, 2, True)}
    await stage.person("looks", "Bob", "bob")
    for shape, (width, height, scale, mobile) in shapes.items():
        for language, dark in (("en", False), ("zh", True)):
            look = {"width": width, "height": height, "scale": scale, "mobile": mobile, "dark": dark}
            name = f"{shape}-{language}-{'dark' if dark else 'light'}"
            page = await stage.page(f"/?room=looks&name=Anna&source=synthetic&size=480x270&fps=10&lang={language}", name, **look)
            await page.until("document.querySelector('#preview').videoWidth > 0 && !document.querySelector('#lobby').hidden", "the preview shows")
            await fits(page, f"{name} lobby")
            await stage.shot(page, f"{name}-lobby")
            for source in ("devices", "synthetic"):
                await page.js(f"(document.querySelector('#source').value = '{source}', document.querySelector('#source').dispatchEvent(new Event('change')))")
                await page.until(f"parlor.media.kind === '{source}' && document.querySelector('#preview').videoWidth > 0", "the preview shows")
                await fits(page, f"{name} lobby, {source}")
            await page.click("#join")
            await page.until("document.querySelectorAll('.tile.pictured').length === 2", "two pictures")
            await fits(page, f"{name} room")
            await stage.shot(page, f"{name}-room")
            await page.click("#toggle-people")
            await fits(page, f"{name} people")
            await stage.shot(page, f"{name}-people")
            await page.press("Escape")
            await page.js("document.activeElement.blur()")
            await page.press("?")
            await page.until("document.querySelector('#dialog').open", "the list of shortcuts opens")
            await fits(page, f"{name} help")
            await stage.shot(page, f"{name}-help")
            await page.press("Escape")
            await page.click("#toggle-details")
            own = "document.querySelector('.tile.own .overlay').textContent"
            await page.until(f"/\\d ms/.test({own})", "the steps of the join are shown")
            need(await page.js(f"!{own}.includes('0 kbit/s + 0 kbit/s')"), "a rate that is not known yet is not said to be nothing")
            await page.until(f"/[1-9]\\d* kbit.s/.test({own})", "then there are rates", standing=own)
            await readable(page, name)
            await stage.shot(page, f"{name}-details")
            # In the strip beside an enlarged picture, too, where tiles are smallest.
            for key in ("bob", " own"):
                await page.js(f"document.querySelector('.tile[data-key=\"{key}\"]').focus()")
                await page.press("Enter")
                await page.until(f"document.querySelector('.tile.large')?.dataset.key === '{key}'", "a picture is enlarged")
                await page.js("parlor.room.measure().then(() => new Promise(requestAnimationFrame))")
                await readable(page, f"{name} strip")
            await page.js("document.querySelector('.tile[data-key=bob] .tile-menu').focus()")
            await page.press("Enter")
            await page.until("document.activeElement.matches('.menu button')", "the menu of a picture opens")
            await seen(page, ".menu:popover-open button", f"{name} menu")
            await stage.shot(page, f"{name}-menu")
            await page.press("Escape")
            await page.click("#leave")
            await page.until("!document.querySelector('#lobby').hidden", "back in the lobby")
            step(name)
            await page.close()


async def fits(page, name):
    """Nothing is wider than the screen, and every control has a name."""
    wide = await page.js("document.documentElement.scrollWidth - innerWidth")
    need(wide <= 0, f"{name} is {wide} pixels too wide")
    nameless = await page.js("""[...document.querySelectorAll('button, input, select, textarea, a')].filter((element) => {
        if (element.offsetParent === null) return false;
        const words = element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.[0]?.textContent.trim();
        return !words;
    }).map((element) => element.outerHTML.slice(0, 120))""")
    need(nameless == [], f"{name}: controls without a name: {nameless}")
    cut = await page.js("""[...document.querySelectorAll('.controls button, .fields button, .bar button')].filter((element) => {
        const box = element.getBoundingClientRect();
        return element.offsetParent !== null && (box.right > innerWidth + 1 || box.bottom > innerHeight + 1 || box.left < -1);
    }).map((element) => element.id)""")
    need(cut == [], f"{name}: controls outside of the screen: {cut}")


async def seen(page, selector, name):
    """All of them are in the window, and nothing lies on them."""
    need(await page.js(f"document.querySelectorAll({json.dumps(selector)}).length > 0"), f"{name}: there is no {selector}")
    hidden = await page.js(f"""[...document.querySelectorAll({json.dumps(selector)})].filter((element) => {{
        const box = element.getBoundingClientRect();
        const isIn = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
        return !isIn || ![[box.left + 6, box.top + 6], [box.right - 6, box.bottom - 6]].every(([x, y]) =>
            element.contains(document.elementFromPoint(x, y)));
    }}).map((element) => element.textContent)""")
    need(hidden == [], f"{name}: cannot be seen: {hidden}")


async def readable(page, name):
    """The details are beside the name and the menu's button, no line is cut, and what does not fit is scrolled."""
    faults = await page.js("""[...document.querySelectorAll('.overlay:not([hidden])')].flatMap((overlay) => {
        const tile = overlay.closest('.tile');
        const box = overlay.getBoundingClientRect();
        const covers = [...tile.querySelectorAll('figcaption, .tile-menu')].filter((element) => {
            const other = element.getBoundingClientRect();
            return box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
        });
        const isCut = overlay.scrollWidth > overlay.clientWidth;
        const isStuck = overlay.scrollHeight > overlay.clientHeight && overlay.tabIndex !== 0;
        return [...covers.map((element) => `covers ${element.className || element.tagName}`), ...(isCut ? ['cuts lines'] : []),
            ...(isStuck ? ['cannot be scrolled by keyboard'] : [])];
    })""")
    need(faults == [], f"{name}: the details: {faults}")
