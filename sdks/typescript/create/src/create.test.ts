import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { create } from "./create.js";
import { tooOld } from "./node.js";
import { installedFrom } from "./packages.js";

const FILES = ["client", "react", "cli", "cli-linux-x64"].map((name) => `iolite-${name}-0.1.0.tgz`);

async function inFolder(work: (place: string, packages: string) => Promise<void>): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "iolite-create-"));
  const packages = join(place, "dist");
  try {
    await mkdir(packages);
    await Promise.all(FILES.map((file) => writeFile(join(packages, file), file)));
    await work(place, packages);
  } finally {
    await rm(place, { recursive: true });
  }
}

test("an app has its name, its packages, and no file that npm would not take", () =>
  inFolder(async (place, packages) => {
    const folder = join(place, "My App!");
    await create({ folder, packages });
    const read = async (file: string): Promise<string> => readFile(join(folder, file), "utf8");
    const { name, dependencies } = JSON.parse(await read("package.json")) as { name: string; dependencies: Record<string, string> };
    assert.equal(name, "my-app");
    assert.equal(dependencies["@iolite/cli-linux-x64"], "file:packages/iolite-cli-linux-x64-0.1.0.tgz");
    assert.deepEqual((await readdir(join(folder, "packages"))).sort(), [...FILES].sort());
    const all = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile() && entry.parentPath !== join(folder, "packages"));
    for (const { parentPath, name: file } of all) {
      assert.ok(!file.startsWith("_"), file);
      assert.ok(!(await readFile(join(parentPath, file), "utf8")).includes("APP_NAME"), `${file} lacks the app's name`);
    }
    assert.ok(all.some(({ name: file }) => file === ".gitignore"));
  }));

test("a folder with something in it is refused and left as it is; one that is a clone of nothing yet is taken", () =>
  inFolder(async (place, packages) => {
    const folder = join(place, "thesis");
    await mkdir(join(folder, ".git"), { recursive: true });
    await writeFile(join(folder, "chapter.txt"), "mine");
    await assert.rejects(create({ folder, packages }), /has something in it already, such as chapter\.txt: name a new or empty one/);
    assert.deepEqual((await readdir(folder)).sort(), [".git", "chapter.txt"]);
    await assert.rejects(create({ folder: join(folder, "chapter.txt"), packages }), /is no folder/);
    await rm(join(folder, "chapter.txt"));
    await create({ folder, packages });
  }));

test("missing packages are named, with how to make them, before a folder is made", () =>
  inFolder(async (place, packages) => {
    await rm(join(packages, "iolite-react-0.1.0.tgz"));
    const folder = join(place, "app");
    await assert.rejects(create({ folder, packages }), /has no iolite-react-0\.1\.0\.tgz: run `make dist`/);
    await assert.rejects(create({ folder }), /nothing is published yet: .*--packages DIR/);
    await assert.rejects(readdir(folder), { code: "ENOENT" });
    await assert.rejects(create({ folder: join(place, "???"), packages }), /gives the app no name/);
  }));

test("the folder that npm took this package from is found by what npm wrote down", () =>
  inFolder(async (place) => {
    const modules = join(place, "cache/node_modules");
    await mkdir(modules, { recursive: true });
    const write = async (resolved: string): Promise<void> =>
      writeFile(join(modules, ".package-lock.json"), JSON.stringify({ packages: { "node_modules/create-iolite": { resolved } } }));
    const root = join(modules, "create-iolite");
    assert.equal(installedFrom(root), undefined);
    await write("file:../dist/create-iolite-0.1.0.tgz");
    assert.equal(installedFrom(root), join(place, "dist"));
    await write("https://registry.npmjs.org/create-iolite.tgz");
    assert.equal(installedFrom(root), undefined);
  }));

test("an old Node is told so, and the oldest one that works is not", () => {
  assert.match(tooOld("18.20.8") ?? "", /needs Node 20\.19 or later, and this is 18\.20\.8/);
  assert.match(tooOld("20.18.3") ?? "", /install a newer one/);
  assert.deepEqual(["20.19.0", "22.1.0", "24.0.0"].map(tooOld), [undefined, undefined, undefined]);
});
