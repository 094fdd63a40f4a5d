// What the tables of measurements share: runs as commands printed them, medians, figures as we write them.
import { readFileSync } from "node:fs";

/** The runs of a text with one JSON object a line. @param {string} text */
export const readLines = (text) =>
    text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));

/** Those of a file. @param {string} file */
export const readRuns = (file) => readLines(readFileSync(file, "utf8"));

/** @param {number[]} numbers */
export const median = (numbers) => {
    const sorted = numbers.toSorted((left, right) => left - right);
    const [low, high] = [Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2)];
    return sorted.length === 0 ? 0 : (sorted[low] + sorted[high]) / 2;
};

/** Three digits or so. @param {number} number */
export const short = (number) => (number >= 100 ? number.toFixed(0) : number >= 10 ? number.toFixed(1) : number.toFixed(2));
