// What both official TypeScript clients check; each brings its own way to connect.

import { Ajv2020 } from 'ajv/dist/2020.js';

const [capread, root] = process.argv.slice(2);

const server = (options) => ({
    command: capread,
    args: ['mcp', '--root', root, '--jobs', '1', '--max-scan-bytes', '4TiB', ...options],
});

const check = (name, holds, found) => {
    if (!holds) {
        console.error(`FAILED: ${name}: ${JSON.stringify(found)}`);
        process.exit(1);
    }
    console.log(name);
};

const failure = (promise) => promise.then((result) => ({ result }), (error) => error);

const reads = [
    [{ path: 'a.txt', limit: '2.0' }, 'one\ntwo\n\n[1 more lines in file. Use offset=3 to continue.]', false],
    [{ path: 'empty' }, '[File is empty.]', false],
    [{ path: 'b.txt' }, 'File does not exist: b.txt. Did you mean a.txt?', true],
    [{ path: '../x' }, 'Path is outside the allowed root: ../x', true],
    [{ path: 'a.txt', offset: 0 }, 'offset must be a positive integer', true],
];

// `call` is (client, params, options) => result; the two clients have other parameters.
async function readsAndFails(client, call, name, tool, structured) {
    const conforms = structured && new Ajv2020({ allowUnionTypes: true }).compile(tool.outputSchema);
    for (const [args, text, isError] of reads) {
        const result = await call(client, { name: 'read', arguments: args });
        const [block, ...more] = result.content;
        const answers = block.text === text && result.isError === isError && more.length === 0;
        const facts = result.structuredContent;
        const isConformant = structured ? conforms(facts) && facts.text === text : facts === undefined;
        check(`${name}: answers ${JSON.stringify(args)}`, answers && isConformant, result);
    }
}

async function cancels(client, call, name) {
    const abort = new AbortController();
    setTimeout(() => abort.abort('not wanted'), 300);
    const params = { name: 'read', arguments: { path: 'endless' } };
    const aborted = await failure(call(client, params, { signal: abort.signal }));
    const begun = performance.now();
    // The only worker is free again.
    const result = await call(client, { name: 'read', arguments: { path: 'a.txt' } });
    const took = performance.now() - begun;
    const holds = aborted.result === undefined && result.content[0].text === 'one\ntwo\nthree' && took < 2000;
    check(`${name}: cancels`, holds, { aborted, result, took });
}

async function tellsProgress(client, call, name) {
    const told = [];
    const params = { name: 'read', arguments: { path: 'endless' } };
    const result = await call(client, params, { onprogress: (progress) => told.push(progress) });
    const rises = told.every(({ progress, total }, n) => total === 2 ** 42 && (n === 0 || progress > told[n - 1].progress));
    const holds = told.length >= 3 && rises && result.content[0].text === 'Read took longer than 1 s';
    check(`${name}: tells progress`, holds, { told, result });
}

// `connect` is (server parameters) => client, `version` what it must agree on and `agreed` how it tells that.
export async function era({ connect, call, version, agreed }) {
    for (const options of [[], ['--structured']]) {
        const structured = options.length > 0;
        const name = [version, ...options].join(' ');
        const client = await connect(server(options));
        check(`${name}: agrees on the revision`, agreed(client) === version, agreed(client));
        check(`${name}: tells who it is`, client.getServerVersion().name === 'capread', client.getServerVersion());
        const { tools } = await client.listTools();
        const isAsWritten = tools.length === 1 && tools[0].inputSchema.additionalProperties === false;
        check(`${name}: lists the tool`, isAsWritten && (tools[0].outputSchema !== undefined) === structured, tools);
        await readsAndFails(client, call, name, tools[0], structured);
        const unknown = await failure(call(client, { name: 'write', arguments: { path: 'a.txt' } }));
        check(`${name}: refuses an unknown tool`, unknown.code === -32602, unknown);
        await cancels(client, call, name);
        await client.close();
        const hurried = await connect(server(['--deadline', '1s', ...options]));
        await tellsProgress(hurried, call, name);
        await hurried.close();
    }
}
