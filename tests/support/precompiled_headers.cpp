// SPDX-License-Identifier: Apache-2.0
// The owner of the tests' precompiled headers needs one file to compile: cmake/TallyTest.cmake
// lists them.
