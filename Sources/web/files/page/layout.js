/**
 * How many columns give the largest tiles of that shape: { columns, rows, width, height }.
 *
 * shape: width over height.
 */
export function arrange(count, width, height, gap, shape) {
    let best = { columns: 1, rows: count, width: 0, height: 0 };
    for (let columns = 1; columns <= Math.max(count, 1); columns += 1) {
        const rows = Math.ceil(count / columns);
        const widest = (width - gap * (columns - 1)) / columns;
        const highest = (height - gap * (rows - 1)) / rows;
        const tile = Math.floor(Math.min(widest, highest * shape));
        if (tile > best.width) best = { columns, rows, width: tile, height: Math.floor(tile / shape) };
    }
    return best;
}

/** The layer that fits a tile of that width, in pixels of the screen: with a step back only when it is much too large. */
export function fittingProfile(pixels, present) {
    const need = pixels > 640 ? 'high' : pixels > 300 ? 'medium' : 'low';
    const order = ['low', 'medium', 'high'];
    if (order.indexOf(need) >= order.indexOf(present)) return need;
    const limits = { high: 560, medium: 260 };
    return pixels < (limits[present] ?? 0) ? need : present;
}
